-- +goose Up

-- The risk rules that operators wrote. The configuration file has its own.
CREATE TABLE risk_rules (
    id         TEXT    NOT NULL PRIMARY KEY,
    rule       TEXT    NOT NULL,
    mode       TEXT    NOT NULL CHECK (mode IN ('off', 'dry_run', 'on')),
    campaign   TEXT    NOT NULL DEFAULT '',
    note       TEXT    NOT NULL DEFAULT '',
    author     TEXT    NOT NULL DEFAULT '',
    revision   INTEGER NOT NULL,
    created_ms INTEGER NOT NULL,
    updated_ms INTEGER NOT NULL
);

-- What rules did, one row a subject while it lasts.
CREATE TABLE risk_fired (
    seq           INTEGER PRIMARY KEY AUTOINCREMENT,
    id            TEXT    NOT NULL UNIQUE,
    rule          TEXT    NOT NULL,
    revision      INTEGER NOT NULL,
    mode          TEXT    NOT NULL,
    action        TEXT    NOT NULL,
    scope         TEXT    NOT NULL CHECK (scope IN ('account', 'device', 'address', 'subnet')),
    value         TEXT    NOT NULL,
    campaign      TEXT    NOT NULL,
    campaign_only INTEGER NOT NULL CHECK (campaign_only IN (0, 1)),
    saw           TEXT    NOT NULL,
    node          TEXT    NOT NULL,
    at_ms         INTEGER NOT NULL,
    until_ms      INTEGER NOT NULL,
    count         INTEGER NOT NULL,
    lifted_ms     INTEGER NOT NULL DEFAULT 0,
    lifted_by     TEXT    NOT NULL DEFAULT ''
);
CREATE INDEX risk_fired_until ON risk_fired (until_ms);
CREATE INDEX risk_fired_value ON risk_fired (value);

CREATE TABLE allowlist (
    id         TEXT    NOT NULL PRIMARY KEY,
    scope      TEXT    NOT NULL CHECK (scope IN ('address', 'user', 'device')),
    value      TEXT    NOT NULL,
    reason     TEXT    NOT NULL DEFAULT '',
    author     TEXT    NOT NULL DEFAULT '',
    created_ms INTEGER NOT NULL,
    expires_ms INTEGER NOT NULL DEFAULT 0,
    UNIQUE (scope, value)
);

-- Who holds unpaid orders where nodes share neither memory nor a Redis. The claims are checked against orders.
CREATE TABLE holders (
    holder   TEXT    NOT NULL,                  -- scope and value
    claim_id BLOB    NOT NULL CHECK (length(claim_id) = 20),
    until_ms INTEGER NOT NULL,
    PRIMARY KEY (holder, claim_id)
) WITHOUT ROWID;
CREATE INDEX holders_until ON holders (until_ms);
