-- +goose Up

-- What came once: nonces and tries at challenges, of nodes that share no Redis. A key is a hash; tok says who was first.
CREATE TABLE once_keys (
    k        BLOB    NOT NULL PRIMARY KEY CHECK (length(k) = 16),
    tok      BLOB    NOT NULL CHECK (length(tok) = 16),
    until_ms INTEGER NOT NULL                     -- by this database's clock; then it may be first again
) WITHOUT ROWID;
CREATE INDEX once_keys_until ON once_keys (until_ms);
