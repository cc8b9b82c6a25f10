-- +goose Up

-- The keys that passes are signed with. The newest one that is active signs; those before it are still believed.
CREATE TABLE IF NOT EXISTS pass_keys (
    seq        BIGINT     NOT NULL PRIMARY KEY CHECK (seq > 0),
    secret     BINARY(32) NOT NULL,
    created_ms BIGINT     NOT NULL,
    active_ms  BIGINT     NOT NULL                     -- by then every node has it
) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
