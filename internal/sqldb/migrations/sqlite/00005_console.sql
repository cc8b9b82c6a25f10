-- +goose Up

-- Sign-ins of operators' browsers. hash is of the secret in the cookie; proof is of secret and key together.
CREATE TABLE sessions (
    id         TEXT    NOT NULL PRIMARY KEY,
    key_id     TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    role       TEXT    NOT NULL,
    hash       BLOB    NOT NULL UNIQUE,
    proof      BLOB    NOT NULL,
    addr       TEXT    NOT NULL,
    agent      TEXT    NOT NULL,
    created_ms INTEGER NOT NULL,
    expires_ms INTEGER NOT NULL
);
CREATE INDEX sessions_key ON sessions (key_id, created_ms);
CREATE INDEX sessions_expires ON sessions (expires_ms);

-- What takes longer than a call: bulk acts, rehearsals. beat_ms is of the node that works on it, by its own clock.
CREATE TABLE jobs (
    id         TEXT    NOT NULL PRIMARY KEY,
    kind       TEXT    NOT NULL,
    state      TEXT    NOT NULL CHECK (state IN ('running', 'done', 'failed', 'cancelled')),
    object     TEXT    NOT NULL,                -- what it is about, such as campaign/spring
    author     TEXT    NOT NULL,
    key_id     TEXT    NOT NULL,
    reason     TEXT    NOT NULL,
    total      INTEGER NOT NULL,                -- -1: not known
    done       INTEGER NOT NULL,
    failed     INTEGER NOT NULL,
    node       TEXT    NOT NULL,
    ask        TEXT    NOT NULL,                -- JSON: what was asked for
    result     TEXT    NOT NULL,                -- JSON; empty until there is one
    fault      TEXT    NOT NULL,
    cancel     INTEGER NOT NULL CHECK (cancel IN (0, 1)),
    created_ms INTEGER NOT NULL,
    beat_ms    INTEGER NOT NULL,
    ended_ms   INTEGER NOT NULL
);
CREATE INDEX jobs_created ON jobs (created_ms, id);
CREATE INDEX jobs_object ON jobs (object, created_ms);

-- Checks before a sale, and who said go. The newest row of a campaign counts.
CREATE TABLE preflights (
    seq         INTEGER PRIMARY KEY AUTOINCREMENT,
    campaign    TEXT    NOT NULL,
    at_ms       INTEGER NOT NULL,
    ok          INTEGER NOT NULL CHECK (ok IN (0, 1)),
    checks      TEXT    NOT NULL,               -- JSON
    author      TEXT    NOT NULL,
    signed_ms   INTEGER NOT NULL,               -- 0: nobody has
    signed_by   TEXT    NOT NULL,
    reason      TEXT    NOT NULL
);
CREATE INDEX preflights_campaign ON preflights (campaign, seq);
