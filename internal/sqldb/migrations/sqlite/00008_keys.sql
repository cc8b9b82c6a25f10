-- +goose Up

-- What a key has beside its row: a scope below its role, and the secrets of a rotation. A table of its own, so that
-- versions that know none of it go on, and refuse what they cannot keep to: of a key with a scope the hash is here only.
CREATE TABLE api_key_terms (
    key_id       TEXT    NOT NULL PRIMARY KEY,
    areas        TEXT    NOT NULL,                                        -- with commas between; empty: all
    read_only    INTEGER NOT NULL CHECK (read_only IN (0, 1)),
    hash         BLOB    NOT NULL CHECK (length(hash) = 32),              -- of the secret now
    old_hash     BLOB    NOT NULL CHECK (length(old_hash) IN (0, 32)),    -- empty: none
    old_prefix   TEXT    NOT NULL,
    old_until_ms INTEGER NOT NULL,
    rotated_ms   INTEGER NOT NULL,
    rotation_id  TEXT    NOT NULL,
    CHECK ((length(old_hash) = 0) = (old_until_ms = 0))
) WITHOUT ROWID;

-- When keys were last used. Nodes write it about once a minute, and it only grows.
CREATE TABLE api_key_uses (
    key_id  TEXT    NOT NULL PRIMARY KEY,
    used_ms INTEGER NOT NULL
) WITHOUT ROWID;
