-- +goose Up

-- Links to a campaign's report, which need no key. hash is of the secret in the link, which is kept nowhere; what is
-- taken back, and what has expired, is deleted.
CREATE TABLE IF NOT EXISTS report_links (
    id         VARBINARY(64) NOT NULL PRIMARY KEY,
    campaign   VARBINARY(64) NOT NULL,
    hash       BINARY(32)    NOT NULL,
    note       VARCHAR(255)  NOT NULL,
    key_id     VARBINARY(64) NOT NULL,
    author     VARCHAR(255)  NOT NULL,
    created_ms BIGINT        NOT NULL,
    expires_ms BIGINT        NOT NULL,
    UNIQUE KEY report_links_hash (hash),
    KEY report_links_campaign (campaign, expires_ms),
    KEY report_links_expires (expires_ms)
) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Runs of the reconciler that were not allowed to repair all: dry_run, one. The others have no row here.
CREATE TABLE IF NOT EXISTS run_modes (
    run  BIGINT        NOT NULL PRIMARY KEY,
    mode VARBINARY(16) NOT NULL
) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
