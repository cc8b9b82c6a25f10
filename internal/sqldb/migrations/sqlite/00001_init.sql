-- +goose Up

CREATE TABLE campaigns (
    no             INTEGER PRIMARY KEY,
    id             TEXT    NOT NULL UNIQUE,
    kind           TEXT    NOT NULL CHECK (kind IN ('goods', 'coupon')),
    title          TEXT    NOT NULL,
    image_url      TEXT    NOT NULL DEFAULT '',
    total          INTEGER NOT NULL,
    created_total  INTEGER NOT NULL,
    held           INTEGER NOT NULL DEFAULT 0,
    sold           INTEGER NOT NULL DEFAULT 0,
    per_user_limit INTEGER NOT NULL CHECK (per_user_limit >= 1),
    limit_group    TEXT    NOT NULL DEFAULT '',
    limit_no       INTEGER NOT NULL,            -- campaigns of one limit group share it; else the campaign's own no
    starts_ms      INTEGER NOT NULL,
    ends_ms        INTEGER NOT NULL CHECK (ends_ms > starts_ms),
    terms          TEXT    NOT NULL,            -- JSON: goods, coupon, protection, eligibility
    load_test      INTEGER NOT NULL DEFAULT 0 CHECK (load_test IN (0, 1)),
    control        TEXT    NOT NULL CHECK (control IN ('draft', 'open', 'paused', 'frozen', 'ended')),
    control_note   TEXT    NOT NULL DEFAULT '',
    revision       INTEGER NOT NULL DEFAULT 1,
    epoch          INTEGER NOT NULL DEFAULT 1,
    claims         INTEGER NOT NULL DEFAULT 0,  -- claim rows ever written: the next one's seq is no << 32 | claims + 1
    created_ms     INTEGER NOT NULL,
    updated_ms     INTEGER NOT NULL,
    CHECK (total >= 0 AND held >= 0 AND sold >= 0 AND held + sold <= total)
);
CREATE INDEX campaigns_limit_group ON campaigns (limit_group) WHERE limit_group <> '';

-- seq is campaign no << 32 | a count from 1, so that a campaign's rows lie side by side, in the order in which they were
-- settled, without an index: loading, verifying and exporting one campaign reads its rows and no others. Only settling
-- inserts. There is no foreign key: checking one for every claim costs a lookup, and settling has just read the campaign.
CREATE TABLE orders (
    seq          INTEGER PRIMARY KEY,
    claim_id     BLOB    NOT NULL CHECK (length(claim_id) = 20),
    campaign_no  INTEGER NOT NULL GENERATED ALWAYS AS (seq >> 32) VIRTUAL,
    limit_no     INTEGER NOT NULL,
    user_id      TEXT    NOT NULL,
    request_id   TEXT,
    source       INTEGER NOT NULL DEFAULT 0 CHECK (source IN (0, 1)),
    quantity     INTEGER NOT NULL CHECK (quantity >= 1),
    amount_minor INTEGER NOT NULL CHECK (amount_minor >= 0),
    state        TEXT    NOT NULL,
    live_units   INTEGER NOT NULL CHECK (live_units IN (0, quantity)),
    limit_units  INTEGER NOT NULL CHECK (limit_units IN (0, quantity)),
    epoch        INTEGER NOT NULL DEFAULT 0,
    created_ms   INTEGER NOT NULL,
    due_ms       INTEGER NOT NULL,              -- a reading of the payment clock
    paid_ms      INTEGER,
    closed_ms    INTEGER,
    close_reason TEXT CHECK (close_reason IN ('expired', 'cancelled')),
    rejected     TEXT,
    refund_due   INTEGER NOT NULL DEFAULT 0 CHECK (refund_due IN (0, 1)),
    refunded_ms  INTEGER,
    -- Spelled out, since SQLite builds a table in memory for IN over more than two values, once for every row.
    CHECK (state = 'unpaid' OR state = 'paid' OR state = 'refunded' OR state = 'closed' OR state = 'rejected'),
    CHECK (state NOT IN ('unpaid', 'paid') OR live_units = quantity),
    CHECK (state NOT IN ('closed', 'rejected') OR live_units = 0),
    CHECK (state <> 'rejected' OR (limit_units = 0 AND rejected IS NOT NULL)),
    CHECK ((state = 'closed') = (close_reason IS NOT NULL)),
    CHECK ((state = 'closed') = (closed_ms IS NOT NULL)),
    CHECK (state NOT IN ('paid', 'refunded') OR paid_ms IS NOT NULL)
);
CREATE UNIQUE INDEX orders_claim ON orders (claim_id);
CREATE INDEX orders_due ON orders (due_ms) WHERE state = 'unpaid';
CREATE INDEX orders_refund_due ON orders (seq) WHERE refund_due = 1;

CREATE TABLE coupons (
    seq            INTEGER PRIMARY KEY,
    claim_id       BLOB    NOT NULL CHECK (length(claim_id) = 20),
    n              INTEGER NOT NULL DEFAULT 0,  -- a claim of quantity q has rows 0 to q-1
    campaign_no    INTEGER NOT NULL GENERATED ALWAYS AS (seq >> 32) VIRTUAL,
    limit_no       INTEGER NOT NULL,
    user_id        TEXT    NOT NULL,
    request_id     TEXT,
    source         INTEGER NOT NULL DEFAULT 0 CHECK (source IN (0, 1)),
    quantity       INTEGER NOT NULL CHECK (quantity >= 1),   -- of the claim
    code           TEXT    UNIQUE,
    state          TEXT    NOT NULL,
    live_units     INTEGER NOT NULL CHECK (live_units IN (0, 1)),
    limit_units    INTEGER NOT NULL CHECK (limit_units IN (0, 1)),
    epoch          INTEGER NOT NULL DEFAULT 0,
    created_ms     INTEGER NOT NULL,
    valid_from_ms  INTEGER NOT NULL,
    valid_until_ms INTEGER NOT NULL,
    lock_ref       TEXT,
    lock_by        TEXT,
    locked_until_ms INTEGER,
    redeem_ref     TEXT,
    redeem_by      TEXT,
    redeemed_ms    INTEGER,
    spend_minor    INTEGER,
    discount_minor INTEGER,
    ended_ms       INTEGER,
    rejected       TEXT,
    CHECK (state = 'issued' OR state = 'locked' OR state = 'redeemed' OR state = 'expired' OR state = 'revoked' OR state = 'rejected'),
    CHECK ((state = 'rejected') = (code IS NULL)),
    CHECK (state = 'revoked' OR state = 'rejected' OR live_units = 1),
    CHECK (state <> 'rejected' OR (live_units = 0 AND limit_units = 0 AND rejected IS NOT NULL)),
    CHECK ((state = 'locked') = (locked_until_ms IS NOT NULL)),
    CHECK ((state = 'redeemed') = (redeem_ref IS NOT NULL AND redeemed_ms IS NOT NULL)),
    CHECK ((state IN ('expired', 'revoked')) = (ended_ms IS NOT NULL))
);
CREATE UNIQUE INDEX coupons_claim ON coupons (claim_id, n);
CREATE INDEX coupons_expiry ON coupons (valid_until_ms) WHERE state IN ('issued', 'locked');

CREATE TABLE payments (
    seq          INTEGER PRIMARY KEY,
    reference    TEXT    NOT NULL UNIQUE,
    claim_id     BLOB    NOT NULL,              -- of the order it names, whether there is one or not
    amount_minor INTEGER NOT NULL,
    currency     TEXT    NOT NULL,
    status       TEXT    NOT NULL,
    result       TEXT    NOT NULL CHECK (result IN ('applied', 'refund_due', 'ignored', 'mismatch', 'unknown_order')),
    received_ms  INTEGER NOT NULL
);
CREATE INDEX payments_claim ON payments (claim_id);

CREATE TABLE redemptions (
    seq         INTEGER PRIMARY KEY,
    merchant_id TEXT    NOT NULL,
    reference   TEXT    NOT NULL,
    op          TEXT    NOT NULL CHECK (op IN ('redeem', 'reverse')),
    code        TEXT    NOT NULL,
    spend_minor INTEGER NOT NULL DEFAULT 0,
    discount_minor INTEGER NOT NULL DEFAULT 0,
    at_ms       INTEGER NOT NULL,
    UNIQUE (merchant_id, reference, op)
);
CREATE INDEX redemptions_code ON redemptions (code);

CREATE TABLE adjustments (
    change_id   TEXT    NOT NULL PRIMARY KEY,
    campaign_no INTEGER NOT NULL REFERENCES campaigns (no),
    delta       INTEGER NOT NULL,
    applied     INTEGER NOT NULL,
    total       INTEGER NOT NULL,               -- after it
    revision    INTEGER NOT NULL,
    state       TEXT    NOT NULL CHECK (state IN ('pending', 'done')),
    at_ms       INTEGER NOT NULL,
    UNIQUE (campaign_no, revision)
);

CREATE TABLE epochs (
    campaign_no INTEGER NOT NULL REFERENCES campaigns (no),
    epoch       INTEGER NOT NULL,
    cause       TEXT    NOT NULL CHECK (cause IN ('created', 'planned', 'lost')),
    armed_ms    INTEGER NOT NULL,
    PRIMARY KEY (campaign_no, epoch)
);

CREATE TABLE events (
    seq         INTEGER PRIMARY KEY AUTOINCREMENT,
    at_ms       INTEGER NOT NULL,
    type        TEXT    NOT NULL,
    campaign_no INTEGER,
    subject     TEXT    NOT NULL DEFAULT '',
    data        TEXT,                           -- JSON, for a row that is one event
    ids         BLOB                            -- claim ids, 20 bytes each, for a row that stands for a batch
);

CREATE TABLE switches (
    name     TEXT NOT NULL,
    campaign TEXT NOT NULL DEFAULT '',
    value    REAL NOT NULL,
    reason   TEXT NOT NULL DEFAULT '',
    author   TEXT NOT NULL DEFAULT '',
    at_ms    INTEGER NOT NULL,
    PRIMARY KEY (name, campaign)
);

CREATE TABLE payment_clock (
    one        INTEGER PRIMARY KEY CHECK (one = 1),
    stopped_ms INTEGER NOT NULL CHECK (stopped_ms >= 0),
    since_ms   INTEGER NOT NULL CHECK (since_ms >= 0)
);
INSERT INTO payment_clock (one, stopped_ms, since_ms) VALUES (1, 0, 0);

CREATE TABLE blocklist (
    id         TEXT NOT NULL PRIMARY KEY,
    scope      TEXT NOT NULL CHECK (scope IN ('address', 'user', 'device')),
    value      TEXT NOT NULL,
    reason     TEXT NOT NULL DEFAULT '',
    author     TEXT NOT NULL DEFAULT '',
    created_ms INTEGER NOT NULL,
    expires_ms INTEGER NOT NULL DEFAULT 0,
    UNIQUE (scope, value)
);

CREATE TABLE audience (
    campaign_no INTEGER NOT NULL REFERENCES campaigns (no),
    user_id     TEXT    NOT NULL,
    upload      INTEGER NOT NULL,               -- which upload named the user last: replacing an audience drops the others
    PRIMARY KEY (campaign_no, user_id)
) WITHOUT ROWID;

CREATE TABLE api_keys (
    id          TEXT NOT NULL PRIMARY KEY,
    name        TEXT NOT NULL,
    role        TEXT NOT NULL CHECK (role IN ('viewer', 'support', 'operator', 'merchant', 'admin')),
    merchant_id TEXT NOT NULL DEFAULT '',
    prefix      TEXT NOT NULL,
    hash        BLOB NOT NULL UNIQUE CHECK (length(hash) = 32),
    created_ms  INTEGER NOT NULL,
    revoked_ms  INTEGER NOT NULL DEFAULT 0,
    CHECK ((role = 'merchant') = (merchant_id <> ''))
);

CREATE TABLE audit_log (
    seq        INTEGER PRIMARY KEY AUTOINCREMENT,
    at_ms      INTEGER NOT NULL,
    key_id     TEXT NOT NULL,
    name       TEXT NOT NULL,
    role       TEXT NOT NULL,
    addr       TEXT NOT NULL DEFAULT '',
    request_id TEXT NOT NULL DEFAULT '',
    reason     TEXT NOT NULL DEFAULT '',
    action     TEXT NOT NULL,
    object     TEXT NOT NULL,
    before     TEXT,
    after      TEXT
);
CREATE INDEX audit_log_object ON audit_log (object, seq);
-- +goose StatementBegin
CREATE TRIGGER audit_log_no_update BEFORE UPDATE ON audit_log BEGIN SELECT RAISE(ABORT, 'audit_log is append-only'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER audit_log_no_delete BEFORE DELETE ON audit_log BEGIN SELECT RAISE(ABORT, 'audit_log is append-only'); END;
-- +goose StatementEnd

CREATE TABLE funnel_buckets (
    campaign_no INTEGER NOT NULL REFERENCES campaigns (no),
    start_ms    INTEGER NOT NULL,
    width_ms    INTEGER NOT NULL,
    counts      TEXT    NOT NULL,               -- JSON: reason -> count
    latency     TEXT    NOT NULL DEFAULT '',    -- JSON: histogram of the answer time
    PRIMARY KEY (campaign_no, start_ms, width_ms)
) WITHOUT ROWID;
