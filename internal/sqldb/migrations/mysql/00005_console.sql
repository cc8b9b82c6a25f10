-- +goose Up

-- Sign-ins of operators' browsers. hash is of the secret in the cookie; proof is of secret and key together.
CREATE TABLE IF NOT EXISTS sessions (
    id         VARBINARY(64)  NOT NULL PRIMARY KEY,
    key_id     VARBINARY(64)  NOT NULL,
    name       VARCHAR(255)   NOT NULL,
    role       VARCHAR(16)    CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    hash       VARBINARY(32)  NOT NULL,
    proof      VARBINARY(32)  NOT NULL,
    addr       VARCHAR(64)    NOT NULL,
    agent      VARCHAR(255)   NOT NULL,
    created_ms BIGINT         NOT NULL,
    expires_ms BIGINT         NOT NULL,
    UNIQUE KEY sessions_hash (hash),
    KEY sessions_key (key_id, created_ms),
    KEY sessions_expires (expires_ms)
) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- What takes longer than a call: bulk acts, rehearsals. beat_ms is of the node that works on it, by its own clock.
CREATE TABLE IF NOT EXISTS jobs (
    id         VARBINARY(64)  NOT NULL PRIMARY KEY,
    kind       VARCHAR(64)    CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    state      VARCHAR(16)    CHARACTER SET ascii COLLATE ascii_bin NOT NULL
               CHECK (state IN ('running', 'done', 'failed', 'cancelled')),
    object     VARBINARY(255) NOT NULL,                -- what it is about, such as campaign/spring
    author     VARCHAR(255)   NOT NULL,
    key_id     VARBINARY(64)  NOT NULL,
    reason     VARCHAR(2000)  NOT NULL,
    total      BIGINT         NOT NULL,                -- -1: not known
    done       BIGINT         NOT NULL,
    failed     BIGINT         NOT NULL,
    node       VARBINARY(255) NOT NULL,
    ask        LONGTEXT       NOT NULL,                -- JSON: what was asked for
    result     LONGTEXT       NOT NULL,                -- JSON; empty until there is one
    fault      VARCHAR(2000)  NOT NULL,
    cancel     TINYINT        NOT NULL CHECK (cancel IN (0, 1)),
    created_ms BIGINT         NOT NULL,
    beat_ms    BIGINT         NOT NULL,
    ended_ms   BIGINT         NOT NULL,
    KEY jobs_created (created_ms, id),
    KEY jobs_object (object, created_ms)
) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Checks before a sale, and who said go. The newest row of a campaign counts.
CREATE TABLE IF NOT EXISTS preflights (
    seq         BIGINT         NOT NULL AUTO_INCREMENT PRIMARY KEY,
    campaign    VARBINARY(255) NOT NULL,
    at_ms       BIGINT         NOT NULL,
    ok          TINYINT        NOT NULL CHECK (ok IN (0, 1)),
    checks      LONGTEXT       NOT NULL,               -- JSON
    author      VARCHAR(255)   NOT NULL,
    signed_ms   BIGINT         NOT NULL,               -- 0: nobody has
    signed_by   VARCHAR(255)   NOT NULL,
    reason      VARCHAR(2000)  NOT NULL,
    KEY preflights_campaign (campaign, seq)
) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
