package sqldb

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sluice-sale/sluice"
)

// Bounds of a Once.
const (
	onceBatch    = 256     // keys in one transaction
	onceWaiting  = 100_000 // keys that wait for one; the next is refused
	onceSweep    = 10 * time.Second
	onceSweepMax = 5000 // keys that one sweep deletes
)

// Once remembers in the ledger what was there once: for several nodes that share no Redis. What is asked while the
// last transaction is under way travels in the next one. Each node deletes what is over, as it goes.
type Once struct {
	db *DB

	mu      sync.Mutex
	waiting []*onceAsk
	flying  bool // a goroutine is at work on what waits
	swept   time.Time
}

type onceAsk struct {
	key, tok [16]byte
	ttl      time.Duration
	done     chan struct{} // closed when it is answered
	first    bool
	err      error
}

// NewOnce makes a Once of db.
func NewOnce(db *DB) *Once { return &Once{db: db} }

// First says whether key comes for the first time within ttl, by the database's clock. ErrInvalid: the ttl is out of
// its bounds. ErrUnavailable: it was not remembered. Any other error: it may have been.
func (o *Once) First(ctx context.Context, key string, ttl time.Duration) (bool, error) {
	if err := sluice.CheckOnceTTL(ttl); err != nil {
		return false, err
	}
	if err := ctx.Err(); err != nil {
		return false, fmt.Errorf("sqldb: once: %w: %w", sluice.ErrUnavailable, err)
	}
	sum := sha256.Sum256([]byte(key))
	ask := &onceAsk{key: [16]byte(sum[:16]), ttl: ttl, done: make(chan struct{})}
	_, _ = rand.Read(ask.tok[:]) // crypto/rand.Read never fails
	if !o.join(ask) {
		return false, fmt.Errorf("sqldb: once: %d keys wait: %w", onceWaiting, sluice.ErrUnavailable)
	}
	select {
	case <-ask.done:
		return ask.first, ask.err
	case <-ctx.Done():
		return false, fmt.Errorf("sqldb: once: %w: %w", sluice.ErrUncertain, ctx.Err())
	}
}

func (o *Once) join(ask *onceAsk) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.waiting) >= onceWaiting {
		return false
	}
	o.waiting = append(o.waiting, ask)
	if !o.flying {
		o.flying = true
		go o.fly()
	}
	return true
}

// fly answers what waits, batch after batch, until nothing does.
func (o *Once) fly() {
	for {
		o.mu.Lock()
		n := min(len(o.waiting), onceBatch)
		batch := o.waiting[:n:n]
		o.waiting = o.waiting[n:]
		sweep := n > 0 && time.Since(o.swept) >= onceSweep
		if sweep {
			o.swept = time.Now()
		}
		o.flying = n > 0
		o.mu.Unlock()
		if n == 0 {
			return
		}
		o.answer(batch)
		if sweep {
			o.sweep()
		}
	}
}

// answer asks the database for a batch. Of a key that stands in it twice the first one asks, and the other is told no.
func (o *Once) answer(batch []*onceAsk) {
	firsts := make(map[[16]byte]*onceAsk, len(batch))
	keys := make([]*onceAsk, 0, len(batch))
	for _, ask := range batch {
		if firsts[ask.key] == nil {
			firsts[ask.key] = ask
			keys = append(keys, ask)
		}
	}
	// In the order of the keys, so that nodes do not wait for each other in a circle.
	slices.SortFunc(keys, func(a, b *onceAsk) int { return slices.Compare(a.key[:], b.key[:]) })
	var won map[[16]byte]bool
	err := o.db.write(context.Background(), laneClaims, func(t *tx) (err error) {
		won, err = t.once(keys)
		return err
	})
	for _, ask := range batch {
		if ask.err = err; err == nil {
			ask.first = firsts[ask.key] == ask && won[ask.key]
		}
		close(ask.done)
	}
}

// onceTail ends the statement that writes keys: one that is over begins anew.
var onceTail = perDialect{
	sqlite: ` ON CONFLICT (k) DO UPDATE SET tok = excluded.tok, until_ms = excluded.until_ms WHERE until_ms <= ?`,
	mysql: ` ON DUPLICATE KEY UPDATE tok = IF(until_ms <= ?, VALUES(tok), tok),
		until_ms = IF(tok = VALUES(tok), VALUES(until_ms), until_ms)`,
}

// once writes keys and says which of them are its own. It may be run again: a token is known by then.
func (t *tx) once(keys []*onceAsk) (won map[[16]byte]bool, err error) {
	now, err := t.now()
	if err != nil {
		return nil, err
	}
	rows := strings.TrimSuffix(strings.Repeat(`(?, ?, ?),`, len(keys)), `,`)
	args := make([]any, 0, 3*len(keys)+1)
	names := make([]any, 0, len(keys))
	for _, k := range keys {
		args = append(args, k.key[:], k.tok[:], now+k.ttl.Milliseconds()+1)
		names = append(names, k.key[:])
	}
	text := `INSERT INTO once_keys (k, tok, until_ms) VALUES ` + rows + t.pick(onceTail)
	if t.w == nil {
		_, err = t.conn.ExecContext(t.ctx, text, append(args, now)...)
	} else {
		_, err = t.w.conn.ExecContext(t.ctx, text, append(args, now)...)
	}
	if err != nil {
		return nil, err
	}
	found, err := t.query(`SELECT k, tok FROM once_keys WHERE k IN (`+questionMarks(len(keys))+`)`, names...)
	if err != nil {
		return nil, err
	}
	return readOnce(found, keys)
}

func readOnce(rows *sql.Rows, keys []*onceAsk) (won map[[16]byte]bool, err error) {
	defer func() { _ = rows.Close() }()
	toks := make(map[[16]byte][16]byte, len(keys))
	for _, k := range keys {
		toks[k.key] = k.tok
	}
	won = make(map[[16]byte]bool, len(keys))
	for rows.Next() {
		var k, tok []byte
		if err := rows.Scan(&k, &tok); err != nil {
			return nil, err
		}
		if len(k) == 16 && len(tok) == 16 && toks[[16]byte(k)] == [16]byte(tok) {
			won[[16]byte(k)] = true
		}
	}
	return won, rows.Err()
}

// sweep deletes keys that are over. One that fails is made up for by the next.
func (o *Once) sweep() {
	_ = o.db.write(context.Background(), laneBackground, func(t *tx) error {
		now, err := t.now()
		if err != nil {
			return err
		}
		_, err = t.exec(`DELETE FROM once_keys WHERE k IN (SELECT k FROM (SELECT k FROM once_keys WHERE until_ms <= ?
			ORDER BY until_ms LIMIT ?) AS o)`, now, onceSweepMax)
		return err
	})
}
