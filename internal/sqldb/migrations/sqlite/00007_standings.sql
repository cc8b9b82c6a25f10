-- +goose Up

-- What nodes do for the campaigns that they sell, as their heartbeats tell: epochs, and where the breaker is open.
CREATE TABLE node_standings (
    id       TEXT NOT NULL PRIMARY KEY,
    standing TEXT NOT NULL  -- JSON
) WITHOUT ROWID;
