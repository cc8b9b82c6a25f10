-- +goose Up

-- The risk rules that operators wrote. The configuration file has its own.
CREATE TABLE IF NOT EXISTS risk_rules (
    id         VARBINARY(64)  NOT NULL PRIMARY KEY,
    rule       VARCHAR(400)   NOT NULL,
    mode       VARCHAR(16)    CHARACTER SET ascii COLLATE ascii_bin NOT NULL CHECK (mode IN ('off', 'dry_run', 'on')),
    campaign   VARBINARY(64)  NOT NULL DEFAULT '',
    note       VARCHAR(2000)  NOT NULL DEFAULT '',
    author     VARCHAR(255)   NOT NULL DEFAULT '',
    revision   BIGINT         NOT NULL,
    created_ms BIGINT         NOT NULL,
    updated_ms BIGINT         NOT NULL
) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- What rules did, one row a subject while it lasts.
CREATE TABLE IF NOT EXISTS risk_fired (
    seq           BIGINT         NOT NULL AUTO_INCREMENT PRIMARY KEY,
    id            VARBINARY(64)  NOT NULL,
    rule          VARBINARY(64)  NOT NULL,
    revision      BIGINT         NOT NULL,
    mode          VARCHAR(16)    CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    action        VARCHAR(64)    NOT NULL,
    scope         VARCHAR(16)    CHARACTER SET ascii COLLATE ascii_bin NOT NULL
                  CHECK (scope IN ('account', 'device', 'address', 'subnet')),
    value         VARBINARY(255) NOT NULL,
    campaign      VARBINARY(64)  NOT NULL,
    campaign_only TINYINT        NOT NULL CHECK (campaign_only IN (0, 1)),
    saw           VARCHAR(1000)  NOT NULL,
    node          VARBINARY(255) NOT NULL,
    at_ms         BIGINT         NOT NULL,
    until_ms      BIGINT         NOT NULL,
    count         BIGINT         NOT NULL,
    lifted_ms     BIGINT         NOT NULL DEFAULT 0,
    lifted_by     VARCHAR(255)   NOT NULL DEFAULT '',
    UNIQUE KEY risk_fired_id (id),
    KEY risk_fired_until (until_ms),
    KEY risk_fired_value (value)
) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS allowlist (
    id         VARBINARY(64)  NOT NULL PRIMARY KEY,
    scope      VARCHAR(16)    CHARACTER SET ascii COLLATE ascii_bin NOT NULL
               CHECK (scope IN ('address', 'user', 'device')),
    value      VARBINARY(255) NOT NULL,
    reason     VARCHAR(2000)  NOT NULL DEFAULT '',
    author     VARCHAR(255)   NOT NULL DEFAULT '',
    created_ms BIGINT         NOT NULL,
    expires_ms BIGINT         NOT NULL DEFAULT 0,
    UNIQUE KEY allowlist_value (scope, value)
) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Who holds unpaid orders where nodes share neither memory nor a Redis. The claims are checked against orders.
CREATE TABLE IF NOT EXISTS holders (
    holder   VARBINARY(255) NOT NULL,              -- scope and value
    claim_id VARBINARY(20)  NOT NULL,
    until_ms BIGINT         NOT NULL,
    PRIMARY KEY (holder, claim_id),
    KEY holders_until (until_ms)
) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
