-- +goose Up

-- For MariaDB 10.11, MySQL 8 and TiDB. The databases commit each statement here by itself, so that each may be run
-- again after a crash in the middle.
--
-- What names something is VARBINARY: it is compared byte by byte, with every space at its end. What has a fixed list of
-- words is ascii, what people read is utf8mb4. There are no foreign keys: each row that is written would lock the row of
-- its campaign, which payments and settling need.

CREATE TABLE IF NOT EXISTS campaigns (
    no             BIGINT         NOT NULL PRIMARY KEY,
    id             VARBINARY(64)  NOT NULL,
    kind           VARCHAR(16)    CHARACTER SET ascii COLLATE ascii_bin NOT NULL CHECK (kind IN ('goods', 'coupon')),
    title          VARCHAR(200)   NOT NULL,
    image_url      VARCHAR(2048)  NOT NULL DEFAULT '',
    total          BIGINT         NOT NULL,
    created_total  BIGINT         NOT NULL,
    held           BIGINT         NOT NULL DEFAULT 0,
    sold           BIGINT         NOT NULL DEFAULT 0,
    per_user_limit BIGINT         NOT NULL CHECK (per_user_limit >= 1),
    limit_group    VARBINARY(64)  NOT NULL DEFAULT '',
    limit_no       BIGINT         NOT NULL,            -- campaigns of one limit group share that of the first; else the own
    starts_ms      BIGINT         NOT NULL,
    ends_ms        BIGINT         NOT NULL,
    terms          LONGTEXT       NOT NULL,            -- JSON: goods, coupon, protection, eligibility
    load_test      TINYINT        NOT NULL DEFAULT 0 CHECK (load_test IN (0, 1)),
    control        VARCHAR(16)    CHARACTER SET ascii COLLATE ascii_bin NOT NULL
                   CHECK (control IN ('draft', 'open', 'paused', 'frozen', 'ended')),
    control_note   VARCHAR(2000)  NOT NULL DEFAULT '',
    revision       BIGINT         NOT NULL DEFAULT 1,
    epoch          BIGINT         NOT NULL DEFAULT 1,
    claims         BIGINT         NOT NULL DEFAULT 0,  -- claim rows ever written: the next one's seq is no << 32 | claims + 1
    created_ms     BIGINT         NOT NULL,
    updated_ms     BIGINT         NOT NULL,
    CONSTRAINT campaigns_window CHECK (ends_ms > starts_ms),
    CONSTRAINT campaigns_stock CHECK (total >= 0 AND held >= 0 AND sold >= 0 AND held + sold <= total),
    UNIQUE KEY campaigns_id (id),
    KEY campaigns_limit_group (limit_group)
) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- seq is campaign no << 32 | a count from 1: a campaign's rows lie side by side, in the order in which they were settled.
CREATE TABLE IF NOT EXISTS orders (
    seq          BIGINT         NOT NULL PRIMARY KEY,
    claim_id     VARBINARY(20)  NOT NULL CHECK (LENGTH(claim_id) = 20),
    campaign_no  BIGINT         GENERATED ALWAYS AS (seq >> 32) VIRTUAL,
    limit_no     BIGINT         NOT NULL,
    user_id      VARBINARY(64)  NOT NULL,
    request_id   VARBINARY(128),
    source       TINYINT        NOT NULL DEFAULT 0 CHECK (source IN (0, 1)),
    quantity     INT            NOT NULL CHECK (quantity >= 1),
    amount_minor BIGINT         NOT NULL CHECK (amount_minor >= 0),
    state        VARCHAR(16)    CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    live_units   INT            NOT NULL,
    limit_units  INT            NOT NULL,
    epoch        BIGINT         NOT NULL DEFAULT 0,
    created_ms   BIGINT         NOT NULL,
    due_ms       BIGINT         NOT NULL,              -- a reading of the payment clock
    paid_ms      BIGINT,
    closed_ms    BIGINT,
    close_reason VARCHAR(16)    CHARACTER SET ascii COLLATE ascii_bin,
    rejected     VARCHAR(40)    CHARACTER SET ascii COLLATE ascii_bin,
    refund_due   TINYINT        NOT NULL DEFAULT 0 CHECK (refund_due IN (0, 1)),
    refunded_ms  BIGINT,
    CONSTRAINT orders_units CHECK (live_units IN (0, quantity) AND limit_units IN (0, quantity)),
    CONSTRAINT orders_close_reason CHECK (close_reason IN ('expired', 'cancelled')),
    CONSTRAINT orders_state CHECK (state IN ('unpaid', 'paid', 'refunded', 'closed', 'rejected')),
    CONSTRAINT orders_live CHECK (state NOT IN ('unpaid', 'paid') OR live_units = quantity),
    CONSTRAINT orders_ended CHECK (state NOT IN ('closed', 'rejected') OR live_units = 0),
    CONSTRAINT orders_rejected CHECK (state <> 'rejected' OR (limit_units = 0 AND rejected IS NOT NULL)),
    CONSTRAINT orders_why CHECK ((state = 'closed') = (close_reason IS NOT NULL)),
    CONSTRAINT orders_closed CHECK ((state = 'closed') = (closed_ms IS NOT NULL)),
    CONSTRAINT orders_paid CHECK (state NOT IN ('paid', 'refunded') OR paid_ms IS NOT NULL),
    UNIQUE KEY orders_claim (claim_id),
    KEY orders_due (state, due_ms),
    KEY orders_refund_due (refund_due)
) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS coupons (
    seq            BIGINT         NOT NULL PRIMARY KEY,
    claim_id       VARBINARY(20)  NOT NULL CHECK (LENGTH(claim_id) = 20),
    n              INT            NOT NULL DEFAULT 0,  -- a claim of quantity q has rows 0 to q-1
    campaign_no    BIGINT         GENERATED ALWAYS AS (seq >> 32) VIRTUAL,
    limit_no       BIGINT         NOT NULL,
    user_id        VARBINARY(64)  NOT NULL,
    request_id     VARBINARY(128),
    source         TINYINT        NOT NULL DEFAULT 0 CHECK (source IN (0, 1)),
    quantity       INT            NOT NULL CHECK (quantity >= 1),   -- of the claim
    code           VARBINARY(64),
    state          VARCHAR(16)    CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    live_units     INT            NOT NULL CHECK (live_units IN (0, 1)),
    limit_units    INT            NOT NULL CHECK (limit_units IN (0, 1)),
    epoch          BIGINT         NOT NULL DEFAULT 0,
    created_ms     BIGINT         NOT NULL,
    valid_from_ms  BIGINT         NOT NULL,
    valid_until_ms BIGINT         NOT NULL,
    lock_ref       VARBINARY(128),
    lock_by        VARBINARY(128),
    locked_until_ms BIGINT,
    redeem_ref     VARBINARY(128),
    redeem_by      VARBINARY(128),
    redeemed_ms    BIGINT,
    spend_minor    BIGINT,
    discount_minor BIGINT,
    ended_ms       BIGINT,
    rejected       VARCHAR(40)    CHARACTER SET ascii COLLATE ascii_bin,
    CONSTRAINT coupons_state CHECK (state IN ('issued', 'locked', 'redeemed', 'expired', 'revoked', 'rejected')),
    CONSTRAINT coupons_code_there CHECK ((state = 'rejected') = (code IS NULL)),
    CONSTRAINT coupons_live CHECK (state = 'revoked' OR state = 'rejected' OR live_units = 1),
    CONSTRAINT coupons_rejected CHECK (state <> 'rejected' OR
        (live_units = 0 AND limit_units = 0 AND rejected IS NOT NULL)),
    CONSTRAINT coupons_locked CHECK ((state = 'locked') = (locked_until_ms IS NOT NULL)),
    CONSTRAINT coupons_redeemed CHECK ((state = 'redeemed') = (redeem_ref IS NOT NULL AND redeemed_ms IS NOT NULL)),
    CONSTRAINT coupons_ended CHECK ((state IN ('expired', 'revoked')) = (ended_ms IS NOT NULL)),
    UNIQUE KEY coupons_claim (claim_id, n),
    UNIQUE KEY coupons_code (code),
    KEY coupons_expiry (state, valid_until_ms)
) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS payments (
    seq          BIGINT         NOT NULL AUTO_INCREMENT PRIMARY KEY,
    reference    VARBINARY(128) NOT NULL,
    claim_id     VARBINARY(255) NOT NULL,              -- of the order it names, whether there is one or not
    amount_minor BIGINT         NOT NULL,
    currency     VARBINARY(16)  NOT NULL,
    status       VARBINARY(64)  NOT NULL,
    result       VARCHAR(16)    CHARACTER SET ascii COLLATE ascii_bin NOT NULL
                 CHECK (result IN ('applied', 'refund_due', 'ignored', 'mismatch', 'unknown_order')),
    received_ms  BIGINT         NOT NULL,
    UNIQUE KEY payments_reference (reference),
    KEY payments_claim (claim_id)
) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS redemptions (
    seq         BIGINT         NOT NULL AUTO_INCREMENT PRIMARY KEY,
    merchant_id VARBINARY(128) NOT NULL,
    reference   VARBINARY(128) NOT NULL,
    op          VARCHAR(16)    CHARACTER SET ascii COLLATE ascii_bin NOT NULL CHECK (op IN ('redeem', 'reverse')),
    code        VARBINARY(64)  NOT NULL,
    spend_minor BIGINT         NOT NULL DEFAULT 0,
    discount_minor BIGINT      NOT NULL DEFAULT 0,
    at_ms       BIGINT         NOT NULL,
    UNIQUE KEY redemptions_reference (merchant_id, reference, op),
    KEY redemptions_code (code)
) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS adjustments (
    change_id   VARBINARY(128) NOT NULL PRIMARY KEY,
    campaign_no BIGINT         NOT NULL,
    delta       BIGINT         NOT NULL,
    applied     BIGINT         NOT NULL,
    total       BIGINT         NOT NULL,               -- after it
    revision    BIGINT         NOT NULL,
    state       VARCHAR(16)    CHARACTER SET ascii COLLATE ascii_bin NOT NULL CHECK (state IN ('pending', 'done')),
    at_ms       BIGINT         NOT NULL,
    UNIQUE KEY adjustments_revision (campaign_no, revision)
) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS epochs (
    campaign_no BIGINT      NOT NULL,
    epoch       BIGINT      NOT NULL,
    cause       VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL CHECK (cause IN ('created', 'planned', 'lost', 'degraded')),
    armed_ms    BIGINT      NOT NULL,
    PRIMARY KEY (campaign_no, epoch)
) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Several transactions write events at once, and the numbers that the database deals out are not in the order of their
-- commits. A row therefore gets its place in the feed, seq, after its commit, from one who numbers at a time; id keeps
-- the order in which a campaign's rows were written.
CREATE TABLE IF NOT EXISTS events (
    id          BIGINT         NOT NULL AUTO_INCREMENT PRIMARY KEY,
    seq         BIGINT,
    at_ms       BIGINT         NOT NULL,
    type        VARCHAR(64)    CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    campaign_no BIGINT,
    subject     VARBINARY(255) NOT NULL DEFAULT '',
    data        LONGTEXT,                              -- JSON, for a row that is one event
    ids         LONGBLOB,                              -- claim ids, 20 bytes each, for a row that stands for a batch
    UNIQUE KEY events_seq (seq)
) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Numbers that are dealt out one after another, each under the lock of its row.
CREATE TABLE IF NOT EXISTS counters (
    name  VARBINARY(32) NOT NULL PRIMARY KEY,
    value BIGINT        NOT NULL
) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
INSERT IGNORE INTO counters (name, value) VALUES ('campaigns', 0), ('events', 0);

CREATE TABLE IF NOT EXISTS switches (
    name     VARBINARY(64) NOT NULL,
    campaign VARBINARY(64) NOT NULL DEFAULT '',
    value    DOUBLE        NOT NULL,
    reason   VARCHAR(2000) NOT NULL DEFAULT '',
    author   VARCHAR(255)  NOT NULL DEFAULT '',
    at_ms    BIGINT        NOT NULL,
    PRIMARY KEY (name, campaign)
) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS payment_clock (
    one        TINYINT NOT NULL PRIMARY KEY CHECK (one = 1),
    stopped_ms BIGINT  NOT NULL CHECK (stopped_ms >= 0),
    since_ms   BIGINT  NOT NULL CHECK (since_ms >= 0)
) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
INSERT IGNORE INTO payment_clock (one, stopped_ms, since_ms) VALUES (1, 0, 0);

CREATE TABLE IF NOT EXISTS blocklist (
    id         VARBINARY(64)  NOT NULL PRIMARY KEY,
    scope      VARCHAR(16)    CHARACTER SET ascii COLLATE ascii_bin NOT NULL
               CHECK (scope IN ('address', 'user', 'device')),
    value      VARBINARY(255) NOT NULL,
    reason     VARCHAR(2000)  NOT NULL DEFAULT '',
    author     VARCHAR(255)   NOT NULL DEFAULT '',
    created_ms BIGINT         NOT NULL,
    expires_ms BIGINT         NOT NULL DEFAULT 0,
    UNIQUE KEY blocklist_value (scope, value)
) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS audience (
    campaign_no BIGINT        NOT NULL,
    user_id     VARBINARY(64) NOT NULL,
    upload      BIGINT        NOT NULL,                -- which upload named the user last: replacing an audience drops the others
    PRIMARY KEY (campaign_no, user_id)
) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS api_keys (
    id          VARBINARY(64)  NOT NULL PRIMARY KEY,
    name        VARCHAR(255)   NOT NULL,
    role        VARCHAR(16)    CHARACTER SET ascii COLLATE ascii_bin NOT NULL
                CHECK (role IN ('viewer', 'support', 'operator', 'merchant', 'admin')),
    merchant_id VARBINARY(128) NOT NULL DEFAULT '',
    prefix      VARBINARY(32)  NOT NULL,
    hash        VARBINARY(32)  NOT NULL CHECK (LENGTH(hash) = 32),
    created_ms  BIGINT         NOT NULL,
    revoked_ms  BIGINT         NOT NULL DEFAULT 0,
    CONSTRAINT api_keys_merchant CHECK ((role = 'merchant') = (merchant_id <> '')),
    UNIQUE KEY api_keys_hash (hash)
) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Triggers forbid changing what is in the log; they are made where the database has any, after these statements.
CREATE TABLE IF NOT EXISTS audit_log (
    seq        BIGINT         NOT NULL AUTO_INCREMENT PRIMARY KEY,
    at_ms      BIGINT         NOT NULL,
    key_id     VARBINARY(255) NOT NULL,
    name       VARCHAR(255)   NOT NULL,
    role       VARCHAR(16)    CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    addr       VARCHAR(255)   NOT NULL DEFAULT '',
    request_id VARBINARY(255) NOT NULL DEFAULT '',
    reason     VARCHAR(2000)  NOT NULL DEFAULT '',
    action     VARCHAR(64)    CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    object     VARBINARY(255) NOT NULL,
    `before`   LONGTEXT,
    `after`    LONGTEXT,
    KEY audit_log_object (object, seq)
) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS funnel_buckets (
    campaign_no BIGINT   NOT NULL,
    start_ms    BIGINT   NOT NULL,
    width_ms    BIGINT   NOT NULL,
    counts      LONGTEXT NOT NULL,                     -- JSON: reason -> count
    latency     LONGTEXT NOT NULL,                     -- JSON: histogram of the answer time
    PRIMARY KEY (campaign_no, start_ms, width_ms)
) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
