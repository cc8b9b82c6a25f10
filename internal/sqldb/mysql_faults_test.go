package sqldb_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/fault"
	"github.com/sluice-sale/sluice/internal/servers"
	"github.com/sluice-sale/sluice/internal/sqldb"
)

// brokenMaria is a ledger on MariaDB behind a proxy that breaks connections.
type brokenMaria struct {
	broken
	place *servers.MariaDatabase
	proxy *servers.FaultProxy
}

func openBrokenMaria(t *testing.T, place *servers.MariaDatabase, cfg sqldb.MySQLConfig) *brokenMaria {
	t.Helper()
	b := &brokenMaria{place: place, proxy: servers.Proxy(t, place.Addr)}
	cfg.URL = strings.Replace(place.URL, place.Addr, b.proxy.Addr, 1)
	cfg.Around, cfg.Read, cfg.Dial = b.store.Around, time.Second, time.Second
	b.DB = openMySQL(t, cfg)
	for _, id := range []string{"g", "h"} {
		create(t, b.DB, sluice.Campaign{
			ID: id, Stock: sluice.Stock{Total: 1000}, PerUserLimit: 5, Goods: sluice.Goods{PriceMinor: 100},
		})
	}
	b.SetPermit(&b.told)
	return b
}

// TestMariaDBFaults breaks the way to the server, or the server, around the commit: what whoever settled is told
// must be true, nothing may be half done, and the retry that the answer allows comes to the same.
func TestMariaDBFaults(t *testing.T) {
	own := servers.OwnMariaDB(t, "")
	for _, tc := range []struct {
		name  string
		step  string // the fault comes before it
		harm  func(*brokenMaria)
		mend  func(*brokenMaria)
		err   error
		done  bool // the rows are there
		doubt bool // the permit is told to read again
	}{
		{"cut before the transaction", sqldb.StepBegin, cut, restore, sluice.ErrUnavailable, false, false},
		{"nothing goes out before it", sqldb.StepBegin, loseRequests, restore, sluice.ErrUnavailable, false, false},
		{"cut before the commit", sqldb.StepCommit, cut, restore, sluice.ErrUncertain, false, true},
		{"the commit does not arrive", sqldb.StepCommit, loseRequests, restore, sluice.ErrUncertain, false, true},
		{"the commit's answer is lost", sqldb.StepCommit, loseReplies, restore, sluice.ErrUncertain, true, true},
		{"killed before the transaction", sqldb.StepBegin, kill, start, sluice.ErrUnavailable, false, false},
		{"killed before the commit", sqldb.StepCommit, kill, start, sluice.ErrUncertain, false, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := openBrokenMaria(t, own.Database(t), sqldb.MySQLConfig{})
			if _, err := b.Settle(t.Context(), []sluice.Claim{goods("g", "first", "1")}); err != nil {
				t.Fatal(err)
			}
			held, told := b.store.Next(tc.step, fault.Hold), len(b.told.told())
			var batch []sluice.Claim
			for i := range 50 {
				batch = append(batch, goods("g", fmt.Sprintf("user-%d", i), "r"))
			}
			answer := make(chan error)
			go func() {
				out, err := b.Settle(context.Background(), batch)
				if err != nil && out != nil {
					err = fmt.Errorf("outcomes with an error: %v", out)
				}
				answer <- err
			}()
			<-held.Entered()
			tc.harm(b)
			held.Release()
			if err := <-answer; !errors.Is(err, tc.err) {
				t.Fatalf("settle: %v, want %v", err, tc.err)
			}
			if now := b.told.told(); len(now) != told {
				t.Errorf("the permit was told %+v", now[told:])
			}
			if doubt := slices.Equal(b.told.uncertain, []string{"g"}); doubt != tc.doubt {
				t.Errorf("in doubt: %v", b.told.uncertain)
			}
			tc.mend(b)
			n := int64(1)
			if tc.done {
				n += 50
			}
			eventually(t, "reads", func() bool { _, err := b.Campaign(t.Context(), "g"); return err == nil })
			b.whole(t, "g", n)
			out, err := b.Settle(t.Context(), batch)
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range out {
				if o.Reason != sluice.ReasonConfirmed || o.Replayed != tc.done {
					t.Fatalf("retry: %+v", o)
				}
			}
			b.whole(t, "g", 51)
			b.well(t, "after")
		})
	}
}

// TestMariaDBFrozenNode has a node stand still before its commit: what it holds is free again soon, another node sells
// on, and the commit that comes too late does nothing.
func TestMariaDBFrozenNode(t *testing.T) {
	b := openBrokenMaria(t, servers.MariaDB(t), sqldb.MySQLConfig{})
	other := openMySQL(t, sqldb.MySQLConfig{URL: b.place.URL, LockWait: time.Second})
	held := b.store.Next(sqldb.StepCommit, fault.Hold)
	answer := make(chan error)
	go func() {
		_, err := b.Settle(context.Background(), []sluice.Claim{goods("g", "a", "1")})
		answer <- err
	}()
	<-held.Entered()
	if _, err := other.Settle(t.Context(), []sluice.Claim{goods("g", "b", "1")}); err != nil {
		t.Errorf("another node: %v", err)
	}
	held.Release()
	if err := <-answer; !errors.Is(err, sluice.ErrUncertain) {
		t.Errorf("a commit that came too late: %v", err)
	}
	b.whole(t, "g", 1)
	b.well(t, "after")
}

func cut(b *brokenMaria)          { b.proxy.Cut() }
func loseRequests(b *brokenMaria) { b.proxy.LoseRequests() }
func loseReplies(b *brokenMaria)  { b.proxy.LoseReplies() }
func restore(b *brokenMaria)      { b.proxy.Restore() }
func kill(b *brokenMaria)         { b.place.Kill9() }
func start(b *brokenMaria)        { b.place.Start() }

// TestMariaDBFreezes stops the server for longer than nobody notices, and shorter than a statement may take.
func TestMariaDBFreezes(t *testing.T) {
	b := openBrokenMaria(t, servers.OwnMariaDB(t, ""), sqldb.MySQLConfig{})
	b.place.Freeze()
	answer := make(chan error)
	go func() {
		_, err := b.Settle(context.Background(), []sluice.Claim{goods("g", "a", "1")})
		answer <- err
	}()
	select {
	case err := <-answer:
		t.Fatalf("an answer from a frozen server: %v", err)
	case <-time.After(300 * time.Millisecond):
	}
	b.place.Thaw()
	if err := <-answer; err != nil {
		t.Fatal(err)
	}
	b.whole(t, "g", 1)
}

// TestMariaDBStaleConnections restarts the server under a pool full of connections: the first write goes through.
func TestMariaDBStaleConnections(t *testing.T) {
	b := openBrokenMaria(t, servers.OwnMariaDB(t, ""), sqldb.MySQLConfig{})
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if _, err := b.Settle(context.Background(), []sluice.Claim{goods("g", fmt.Sprint("u", i), "1")}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	b.place.Stop()
	b.place.Start()
	b.well(t, "1")
	b.whole(t, "g", 21)
}

// raw is a connection of somebody else.
type raw struct {
	t    *testing.T
	conn *sql.Conn
}

func openRaw(t *testing.T, place *servers.MariaDatabase) raw {
	t.Helper()
	db, err := sql.Open("mysql", "sluice:sluice@tcp("+place.Addr+")/"+place.Name)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(); _ = db.Close() })
	return raw{t, conn}
}

func (r raw) do(statement string) {
	r.t.Helper()
	if _, err := r.conn.ExecContext(r.t.Context(), statement); err != nil {
		r.t.Fatalf("%s: %v", statement, err)
	}
}

// TestMariaDBDeadlock has another transaction take the locks of two campaigns in the wrong order. The database ends the
// one that has written less, which is the batch: it is run again and comes through.
func TestMariaDBDeadlock(t *testing.T) {
	b := openBrokenMaria(t, servers.MariaDB(t), sqldb.MySQLConfig{})
	other := openRaw(t, b.place)
	other.do(`BEGIN`)
	other.do(`INSERT INTO events (at_ms, type) SELECT 1, 'x' FROM information_schema.COLUMNS LIMIT 500`)
	other.do(`SELECT * FROM campaigns WHERE id = 'h' FOR UPDATE`)
	held := b.store.Next(sqldb.StepCommit, fault.None)
	answer := make(chan error)
	go func() {
		_, err := b.Settle(context.Background(), []sluice.Claim{goods("g", "a", "1"), goods("h", "a", "1")})
		answer <- err
	}()
	eventually(t, "a wait for a lock", func() bool {
		return b.place.LockWaits() > 0
	})
	other.do(`SELECT * FROM campaigns WHERE id = 'g' FOR UPDATE`)
	other.do(`ROLLBACK`)
	if err := <-answer; err != nil {
		t.Fatal(err)
	}
	<-held.Entered()
	if n := b.place.Do(`SELECT COUNT FROM information_schema.INNODB_METRICS WHERE NAME = 'lock_deadlocks'`); n == "0" {
		t.Errorf("there was no deadlock: %s", n)
	}
	b.whole(t, "g", 1)
	b.whole(t, "h", 1)
}

// TestMariaDBLockHeld has another transaction hold a campaign for longer than one waits for a lock: who waits comes
// through when it ends in time, and has done nothing when it does not. Meanwhile the other lanes and the other
// campaigns go on.
func TestMariaDBLockHeld(t *testing.T) {
	b := openBrokenMaria(t, servers.MariaDB(t), sqldb.MySQLConfig{LockWait: time.Second, Claims: 2})
	order := goods("h", "payer", "1")
	if _, err := b.Settle(t.Context(), []sluice.Claim{order}); err != nil {
		t.Fatal(err)
	}
	other := openRaw(t, b.place)
	other.do(`BEGIN`)
	other.do(`SELECT * FROM campaigns WHERE id = 'g' FOR UPDATE`)
	answers := make(chan error, 2)
	for i := range 2 {
		go func() {
			_, err := b.Settle(context.Background(), []sluice.Claim{goods("g", fmt.Sprint("u", i), "1")})
			answers <- err
		}()
	}
	rec, err := b.Pay(t.Context(), sluice.Payment{
		Reference: "p", Order: order.ID, AmountMinor: 100, Currency: "CNY", Status: sluice.PaymentSucceeded, Received: 6000,
	})
	if err != nil || rec.Result != sluice.PaymentApplied {
		t.Errorf("a payment while batches wait: %+v %v", rec, err)
	}
	for range 2 {
		if err := <-answers; !errors.Is(err, sluice.ErrUnavailable) {
			t.Errorf("the lock was held: %v", err)
		}
	}
	b.whole(t, "g", 0)
	go func() {
		_, err := b.Settle(context.Background(), []sluice.Claim{goods("g", "u0", "1")})
		answers <- err
	}()
	eventually(t, "a wait for a lock", func() bool {
		return b.place.LockWaits() > 0
	})
	other.do(`ROLLBACK`)
	if err := <-answers; err != nil {
		t.Error(err)
	}
	b.whole(t, "g", 1)
}

// TestMariaDBMigratesOnce has ten nodes start at once on an empty database.
func TestMariaDBMigratesOnce(t *testing.T) {
	place := servers.MariaDB(t)
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			db, err := sqldb.OpenMySQL(t.Context(), sqldb.MySQLConfig{URL: place.URL})
			if err != nil {
				t.Error(err)
				return
			}
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := strings.TrimSpace(place.Do(`SELECT COUNT(*) - COUNT(DISTINCT version_id) FROM goose_db_version`)); n != "0" {
		t.Errorf("%s migrations ran twice", n)
	}
	place.Do(`INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, 1)`)
	db := openMySQL(t, sqldb.MySQLConfig{URL: place.URL}) // the node of the version before
	create(t, db, sluice.Campaign{ID: "g", Stock: sluice.Stock{Total: 1}})
}

// TestMariaDBAuditLogGrowsOnly tries to rewrite history.
func TestMariaDBAuditLogGrowsOnly(t *testing.T) {
	b := openBrokenMaria(t, servers.MariaDB(t), sqldb.MySQLConfig{})
	other := openRaw(t, b.place)
	for _, s := range []string{`UPDATE audit_log SET name = 'x'`, `DELETE FROM audit_log`} {
		if _, err := other.conn.ExecContext(t.Context(), s); err == nil {
			t.Errorf("%s went through", s)
		}
	}
}

// TestMariaDBNodes runs what several nodes do to one ledger at once, with a reader of the feed, and counts afterwards.
func TestMariaDBNodes(t *testing.T) {
	place := servers.MariaDB(t)
	nodes := make([]*sqldb.DB, 3)
	for i := range nodes {
		nodes[i] = openMySQL(t, sqldb.MySQLConfig{URL: place.URL, MaxWaiting: 1000})
	}
	ids := []string{"a", "b", "c", "d"}
	for i, id := range ids {
		c := sluice.Campaign{ID: id, Stock: sluice.Stock{Total: 150}, PerUserLimit: 2, Goods: sluice.Goods{PriceMinor: 100}}
		if i < 2 {
			c.LimitGroup = "pair"
		}
		create(t, nodes[0], c)
	}
	var wg sync.WaitGroup
	for w := range 9 {
		db := nodes[w%len(nodes)]
		wg.Go(func() {
			for round := range 15 {
				var batch []sluice.Claim
				for i := range 30 {
					n := (w*7 + round*13 + i*11) % 400
					batch = append(batch, goods(ids[(n+i)%4], fmt.Sprint("u", n%120), fmt.Sprint("r", n%5)))
				}
				out, err := db.Settle(context.Background(), batch)
				if err != nil {
					t.Errorf("settle: %v", err)
					return
				}
				for i, o := range out {
					if o.Reason == sluice.ReasonUnavailable || o.Reason == sluice.ReasonRequestIDReused {
						t.Errorf("claim %s came to %+v", batch[i].ID, o)
					}
					if o.Reason != sluice.ReasonConfirmed || i%3 != 0 {
						continue
					}
					_, err := db.CloseOrder(context.Background(), batch[i].ID, sluice.CloseCancelled, sluice.Actor{}, 9000)
					if err != nil {
						t.Errorf("close: %v", err)
					}
				}
			}
		})
	}
	done := make(chan struct{})
	feed := make(chan []sluice.Event, 2)
	for _, db := range nodes[1:] {
		go func() { feed <- follow(t, db, done) }()
	}
	wg.Wait()
	close(done)
	seen, also := <-feed, <-feed
	all, err := nodes[0].Events(t.Context(), sluice.EventID{Index: -1}, 5000)
	if err != nil || len(all) != len(seen) || len(all) != len(also) {
		t.Fatalf("readers who kept the last id saw %d and %d events of %d, %v", len(seen), len(also), len(all), err)
	}
	for i := range all {
		if all[i].ID != seen[i].ID || all[i].Subject != seen[i].Subject || all[i].Subject != also[i].Subject {
			t.Fatalf("event %d was %+v and %+v, is %+v", i, seen[i], also[i], all[i])
		}
	}
	for _, id := range ids {
		if v, err := nodes[1].Verify(t.Context(), id, nil); err != nil || !v.OK {
			t.Errorf("%s: %+v %v", id, v, err)
		}
	}
}

// follow reads the feed as a subscriber does, until done is closed and nothing new comes.
func follow(t *testing.T, db *sqldb.DB, done <-chan struct{}) (all []sluice.Event) {
	after := sluice.EventID{Index: -1}
	for {
		last := false
		select {
		case <-done:
			last = true
		default:
		}
		page, err := db.Events(context.Background(), after, 50)
		if err != nil {
			t.Errorf("events: %v", err)
			return all
		}
		if all = append(all, page...); len(page) > 0 {
			after = page[len(page)-1].ID
		} else if last {
			return all
		}
		runtime.Gosched()
	}
}

// TestMariaDBGroupLimit has two nodes settle claims of the same users at once, each on another campaign of a limit
// group.
func TestMariaDBGroupLimit(t *testing.T) {
	place := servers.MariaDB(t)
	nodes := []*sqldb.DB{openMySQL(t, sqldb.MySQLConfig{URL: place.URL}), openMySQL(t, sqldb.MySQLConfig{URL: place.URL})}
	for _, id := range []string{"a", "b"} {
		create(t, nodes[0], sluice.Campaign{ID: id, Stock: sluice.Stock{Total: 1000}, LimitGroup: "pair"})
	}
	for round := range 20 {
		confirmed := make(chan int, len(nodes))
		for i, db := range nodes {
			go func() {
				var batch []sluice.Claim
				for u := range 20 {
					batch = append(batch, goods([]string{"a", "b"}[i], fmt.Sprint("u", round, "-", u), "1"))
				}
				out, err := db.Settle(context.Background(), batch)
				if err != nil {
					t.Error(err)
				}
				n := 0
				for _, o := range out {
					if o.Reason == sluice.ReasonConfirmed {
						n++
					}
				}
				confirmed <- n
			}()
		}
		if n := <-confirmed + <-confirmed; n != 20 {
			t.Fatalf("20 users have %d units of a limit of 1", n)
		}
	}
}

// TestMariaDBConnections fills every lane and looks at how many connections there are.
func TestMariaDBConnections(t *testing.T) {
	b := openBrokenMaria(t, servers.OwnMariaDB(t, ""), sqldb.MySQLConfig{Urgent: 2, Claims: 2, Background: 1, Readers: 3})
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			_, _ = b.Settle(context.Background(), []sluice.Claim{goods("g", fmt.Sprint("u", i), "1")})
			id := goods("g", fmt.Sprint("u", i), "1").ID
			_, _ = b.CloseOrder(context.Background(), id, sluice.CloseCancelled, sluice.Actor{}, 9)
			_, _ = b.CloseDue(context.Background(), 10, 0)
			_, _ = b.Campaign(context.Background(), "g")
		})
	}
	wg.Wait()
	n := strings.TrimSpace(b.place.Do(`SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = 'sluice'`))
	if n == "0" || len(n) > 1 {
		t.Errorf("%s connections of at most 8", n)
	}
	if v, err := b.Verify(t.Context(), "g", nil); err != nil || !v.OK || v.Held != 0 {
		t.Errorf("%+v %v", v, err)
	}
}
