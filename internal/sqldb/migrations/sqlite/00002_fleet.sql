-- +goose Up

-- What committed transactions mean for permits in other processes. A row is there until its permit has taken it: the
-- table is short. seq is not the order of commits, so that a reader begins at 0 again and again.
CREATE TABLE permit_ops (
    seq         INTEGER PRIMARY KEY AUTOINCREMENT,
    campaign_no INTEGER NOT NULL,
    kind        TEXT    NOT NULL CHECK (kind IN ('release', 'adjust', 'take')),
    claim_id    BLOB,                           -- of a release or take
    units       INTEGER NOT NULL,
    limit_units INTEGER NOT NULL,
    revision    INTEGER NOT NULL,               -- of an adjust
    epoch       INTEGER NOT NULL,               -- of the campaign, read under its lock
    CHECK ((kind = 'adjust') = (claim_id IS NULL)),
    CHECK ((kind = 'adjust') = (revision > 0))
);
CREATE INDEX permit_ops_campaign ON permit_ops (campaign_no, seq);

CREATE TABLE leaders (
    job      TEXT    NOT NULL PRIMARY KEY,
    node     TEXT    NOT NULL,
    token    INTEGER NOT NULL,                  -- grows with every new term: the fence
    until_ms INTEGER NOT NULL                   -- by this database's clock
);

-- A node that says SOLD_OUT by itself, without asking, holds one: until then nobody is sold a unit that came back.
CREATE TABLE sold_out_leases (
    campaign_no INTEGER NOT NULL PRIMARY KEY,
    until_ms    INTEGER NOT NULL                -- by this database's clock
);

CREATE TABLE nodes (
    id         TEXT    NOT NULL PRIMARY KEY,
    name       TEXT    NOT NULL,
    version    TEXT    NOT NULL,
    addr       TEXT    NOT NULL,
    started_ms INTEGER NOT NULL,
    seen_ms    INTEGER NOT NULL,                -- by this database's clock
    settings   INTEGER NOT NULL,
    skew_ms    INTEGER NOT NULL,
    flushed    TEXT    NOT NULL                 -- JSON: campaign -> epoch
);

CREATE TABLE settings_rev (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    rev INTEGER NOT NULL
);
INSERT INTO settings_rev (one, rev) VALUES (1, 1);

CREATE TABLE dead_letters (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    ident       BLOB    NOT NULL UNIQUE,        -- the claim's id, or a hash of a message that cannot be read
    state       TEXT    NOT NULL CHECK (state IN ('trying', 'kept', 'replayed', 'discarded')),
    tries       INTEGER NOT NULL,
    fault       TEXT    NOT NULL,               -- of the last try
    first_ms    INTEGER NOT NULL,
    last_ms     INTEGER NOT NULL,
    claim_id    BLOB,                           -- empty for what cannot be read, with the rest of the claim
    campaign    TEXT    NOT NULL DEFAULT '',
    user_id     TEXT    NOT NULL DEFAULT '',
    request_id  TEXT    NOT NULL DEFAULT '',
    source      INTEGER NOT NULL DEFAULT 0,
    quantity    INTEGER NOT NULL DEFAULT 0,
    epoch       INTEGER NOT NULL DEFAULT 0,
    claimed_ms  INTEGER NOT NULL DEFAULT 0,
    codes       TEXT,                           -- JSON: coupon codes
    raw         BLOB
);
CREATE INDEX dead_letters_state ON dead_letters (state, id);

CREATE TABLE reconcile_runs (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    campaign    TEXT    NOT NULL,
    epoch       INTEGER NOT NULL,
    started_ms  INTEGER NOT NULL,
    took_ms     INTEGER NOT NULL,
    ok          INTEGER NOT NULL CHECK (ok IN (0, 1)),
    total       INTEGER NOT NULL,
    available   INTEGER NOT NULL,
    in_transfer INTEGER NOT NULL,
    queued      INTEGER NOT NULL,
    held        INTEGER NOT NULL,
    sold        INTEGER NOT NULL,
    claims      INTEGER NOT NULL,
    drift       INTEGER NOT NULL,
    found       TEXT    NOT NULL,               -- JSON
    fault       TEXT    NOT NULL
);
CREATE INDEX reconcile_runs_campaign ON reconcile_runs (campaign, id);
CREATE INDEX reconcile_runs_started ON reconcile_runs (started_ms);

CREATE INDEX adjustments_pending ON adjustments (state, campaign_no) WHERE state = 'pending';
