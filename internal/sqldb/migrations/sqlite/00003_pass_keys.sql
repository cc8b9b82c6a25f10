-- +goose Up

-- The keys that passes are signed with. The newest one that is active signs; those before it are still believed.
CREATE TABLE pass_keys (
    seq        INTEGER NOT NULL PRIMARY KEY CHECK (seq > 0),
    secret     BLOB    NOT NULL CHECK (length(secret) = 32),
    created_ms INTEGER NOT NULL,
    active_ms  INTEGER NOT NULL                 -- by then every node has it
);
