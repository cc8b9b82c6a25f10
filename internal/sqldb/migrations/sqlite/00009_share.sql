-- +goose Up

-- Links to a campaign's report, which need no key. hash is of the secret in the link, which is kept nowhere; what is
-- taken back, and what has expired, is deleted.
CREATE TABLE report_links (
    id         TEXT    NOT NULL PRIMARY KEY,
    campaign   TEXT    NOT NULL,
    hash       BLOB    NOT NULL UNIQUE CHECK (length(hash) = 32),
    note       TEXT    NOT NULL,
    key_id     TEXT    NOT NULL,
    author     TEXT    NOT NULL,
    created_ms INTEGER NOT NULL,
    expires_ms INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX report_links_campaign ON report_links (campaign, expires_ms);
CREATE INDEX report_links_expires ON report_links (expires_ms);

-- Runs of the reconciler that were not allowed to repair all: dry_run, one. The others have no row here.
CREATE TABLE run_modes (
    run  INTEGER NOT NULL PRIMARY KEY,
    mode TEXT    NOT NULL
) WITHOUT ROWID;
