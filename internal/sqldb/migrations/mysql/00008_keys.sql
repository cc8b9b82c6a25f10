-- +goose Up

-- What a key has beside its row: a scope below its role, and the secrets of a rotation. A table of its own, so that
-- versions that know none of it go on, and refuse what they cannot keep to: of a key with a scope the hash is here only.
CREATE TABLE IF NOT EXISTS api_key_terms (
    key_id       VARBINARY(64)  NOT NULL PRIMARY KEY,
    areas        VARCHAR(2000)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,  -- with commas between; empty: all
    read_only    TINYINT        NOT NULL CHECK (read_only IN (0, 1)),
    hash         VARBINARY(32)  NOT NULL CHECK (LENGTH(hash) = 32),             -- of the secret now
    old_hash     VARBINARY(32)  NOT NULL CHECK (LENGTH(old_hash) IN (0, 32)),    -- empty: none
    old_prefix   VARBINARY(32)  NOT NULL,
    old_until_ms BIGINT         NOT NULL,
    rotated_ms   BIGINT         NOT NULL,
    rotation_id  VARBINARY(64)  NOT NULL,
    CONSTRAINT api_key_terms_old CHECK ((LENGTH(old_hash) = 0) = (old_until_ms = 0))
) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- When keys were last used. Nodes write it about once a minute, and it only grows.
CREATE TABLE IF NOT EXISTS api_key_uses (
    key_id  VARBINARY(64) NOT NULL PRIMARY KEY,
    used_ms BIGINT        NOT NULL
) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
