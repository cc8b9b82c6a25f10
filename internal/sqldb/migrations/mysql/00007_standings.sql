-- +goose Up

-- What nodes do for the campaigns that they sell, as their heartbeats tell: epochs, and where the breaker is open.
CREATE TABLE IF NOT EXISTS node_standings (
    id       VARBINARY(255) NOT NULL PRIMARY KEY,
    standing LONGTEXT NOT NULL  -- JSON
) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
