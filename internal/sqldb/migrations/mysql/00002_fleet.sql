-- +goose Up

-- What committed transactions mean for permits in other processes. A row is there until its permit has taken it: the
-- table is short. seq is not the order of commits, so that a reader begins at 0 again and again.
CREATE TABLE IF NOT EXISTS permit_ops (
    seq         BIGINT        NOT NULL AUTO_INCREMENT PRIMARY KEY,
    campaign_no BIGINT        NOT NULL,
    kind        VARCHAR(16)   CHARACTER SET ascii COLLATE ascii_bin NOT NULL CHECK (kind IN ('release', 'adjust', 'take')),
    claim_id    VARBINARY(20),                         -- of a release or take
    units       BIGINT        NOT NULL,
    limit_units BIGINT        NOT NULL,
    revision    BIGINT        NOT NULL,                -- of an adjust
    epoch       BIGINT        NOT NULL,                -- of the campaign, read under its lock
    CONSTRAINT permit_ops_claim CHECK ((kind = 'adjust') = (claim_id IS NULL)),
    CONSTRAINT permit_ops_adjust CHECK ((kind = 'adjust') = (revision > 0)),
    KEY permit_ops_campaign (campaign_no, seq)
) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS leaders (
    job      VARBINARY(64)  NOT NULL PRIMARY KEY,
    node     VARBINARY(255) NOT NULL,
    token    BIGINT         NOT NULL,                  -- grows with every new term: the fence
    until_ms BIGINT         NOT NULL                   -- by this database's clock
) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- A node that says SOLD_OUT by itself, without asking, holds one: until then nobody is sold a unit that came back.
CREATE TABLE IF NOT EXISTS sold_out_leases (
    campaign_no BIGINT NOT NULL PRIMARY KEY,
    until_ms    BIGINT NOT NULL                        -- by this database's clock
) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS nodes (
    id         VARBINARY(255) NOT NULL PRIMARY KEY,
    name       VARCHAR(255)   NOT NULL,
    version    VARCHAR(255)   NOT NULL,
    addr       VARCHAR(255)   NOT NULL,
    started_ms BIGINT         NOT NULL,
    seen_ms    BIGINT         NOT NULL,                -- by this database's clock
    settings   BIGINT         NOT NULL,
    skew_ms    BIGINT         NOT NULL,
    flushed    LONGTEXT       NOT NULL                 -- JSON: campaign -> epoch
) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS settings_rev (
    one TINYINT NOT NULL PRIMARY KEY CHECK (one = 1),
    rev BIGINT  NOT NULL
) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
INSERT IGNORE INTO settings_rev (one, rev) VALUES (1, 1);

CREATE TABLE IF NOT EXISTS dead_letters (
    id          BIGINT         NOT NULL AUTO_INCREMENT PRIMARY KEY,
    ident       VARBINARY(32)  NOT NULL,               -- the claim's id, or a hash of a message that cannot be read
    state       VARCHAR(16)    CHARACTER SET ascii COLLATE ascii_bin NOT NULL
                CHECK (state IN ('trying', 'kept', 'replayed', 'discarded')),
    tries       BIGINT         NOT NULL,
    fault       VARCHAR(2000)  NOT NULL,               -- of the last try
    first_ms    BIGINT         NOT NULL,
    last_ms     BIGINT         NOT NULL,
    claim_id    VARBINARY(20),                         -- empty for what cannot be read, with the rest of the claim
    campaign    VARBINARY(255) NOT NULL DEFAULT '',
    user_id     VARBINARY(255) NOT NULL DEFAULT '',
    request_id  VARBINARY(255) NOT NULL DEFAULT '',
    source      TINYINT        NOT NULL DEFAULT 0,
    quantity    BIGINT         NOT NULL DEFAULT 0,
    epoch       BIGINT         NOT NULL DEFAULT 0,
    claimed_ms  BIGINT         NOT NULL DEFAULT 0,
    codes       LONGTEXT,                              -- JSON: coupon codes
    raw         MEDIUMBLOB,
    UNIQUE KEY dead_letters_ident (ident),
    KEY dead_letters_state (state, id)
) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS reconcile_runs (
    id          BIGINT         NOT NULL AUTO_INCREMENT PRIMARY KEY,
    campaign    VARBINARY(64)  NOT NULL,
    epoch       BIGINT         NOT NULL,
    started_ms  BIGINT         NOT NULL,
    took_ms     BIGINT         NOT NULL,
    ok          TINYINT        NOT NULL CHECK (ok IN (0, 1)),
    total       BIGINT         NOT NULL,
    available   BIGINT         NOT NULL,
    in_transfer BIGINT         NOT NULL,
    queued      BIGINT         NOT NULL,
    held        BIGINT         NOT NULL,
    sold        BIGINT         NOT NULL,
    claims      BIGINT         NOT NULL,
    drift       BIGINT         NOT NULL,
    found       LONGTEXT       NOT NULL,               -- JSON
    fault       VARCHAR(2000)  NOT NULL,
    KEY reconcile_runs_campaign (campaign, id),
    KEY reconcile_runs_started (started_ms)
) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
