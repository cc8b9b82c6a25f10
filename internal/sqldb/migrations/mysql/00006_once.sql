-- +goose Up

-- What came once: nonces and tries at challenges, of nodes that share no Redis. A key is a hash; tok says who was first.
CREATE TABLE IF NOT EXISTS once_keys (
    k        BINARY(16) NOT NULL PRIMARY KEY,
    tok      BINARY(16) NOT NULL,
    until_ms BIGINT     NOT NULL,                 -- by this database's clock; then it may be first again
    KEY once_keys_until (until_ms)
) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
