package sqldb

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/sluice-sale/sluice"
)

// Bounds of reading what is there.
const (
	maxRanges = 512  // users whose claims one statement reads
	maxMissed = 4096 // rows that came meanwhile and are looked at one by one
)

// read finds the batch's claims that are there and what its users have used, and takes the locks. The long part of it,
// which looks up every user, comes before the locks, while another batch has them: what was written since is the rows
// with the numbers since, and nothing that is in a row makes its user have used more. Where a limit counts several
// campaigns it comes after them.
func (b *batch) read() error {
	if slices.ContainsFunc(b.sales, func(s *sale) bool { return s.group }) {
		if err := b.lock(); err != nil {
			return err
		}
		return b.readAll()
	}
	if err := b.count(); err != nil {
		return err
	}
	if err := b.readAll(); err != nil {
		return err
	}
	for _, s := range b.sales {
		if err := b.lockAndRead(s); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(b.sales, func(s *sale) bool { return s.rows-s.seen > maxMissed }) {
		clear(b.used)
		clear(b.known)
		if err := b.readAll(); err != nil {
			return err
		}
	}
	if b.refuse {
		return b.leases()
	}
	return nil
}

// count notes how many rows each campaign has.
func (b *batch) count() error {
	for _, s := range b.sales {
		if err := b.t.row(`SELECT claims FROM campaigns WHERE no = ?`, []any{s.no}, &s.seen); err != nil {
			return fmt.Errorf("sqldb: campaign no. %d: %w", s.no, err)
		}
	}
	return nil
}

// lockAndRead takes a campaign's lock and reads the rows that were written after the batch had counted them, in one
// call: the others wait for the lock meanwhile. Of more rows than are looked at one by one it reads nothing of use.
func (b *batch) lockAndRead(s *sale) error {
	users := map[string]struct{}{}
	for _, i := range s.claims {
		users[b.claims[i].User] = struct{}{}
	}
	before := maps.Clone(b.known)
	lock := b.t.db.texts.of(lockSale)
	rows, err := b.t.conn.QueryContext(b.t.ctx, lock.text+`; `+knownRows(claimTable(s.kind))+
		` WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?`,
		append(arrange(lock, []any{s.no}), s.no<<32|s.seen, s.no<<32|math.MaxUint32, maxMissed+1)...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	if !rows.Next() {
		return cmp.Or(rows.Err(), error(sluice.ErrNotFound))
	}
	if err := s.locked(b.t, rows); err != nil {
		return err
	}
	if rows.Next() || !rows.NextResultSet() {
		return cmp.Or(rows.Err(), errors.New("sqldb: the rows since were not read"))
	}
	for rows.Next() {
		err := b.known1(rows, func(id sluice.ClaimID, user string) bool {
			_, was := before[id] // it came between the count and the look
			_, asked := users[user]
			return asked && !was
		})
		if err != nil {
			return err
		}
	}
	return rows.Err()
}

// readAll finds the batch's claims that are there, and what its users have used.
func (b *batch) readAll() error {
	users := map[string]map[sluice.UserKey]struct{}{"orders": {}, "coupons": {}}
	limits := map[int64]struct{}{}
	for _, s := range b.sales {
		limits[s.limitNo] = struct{}{}
		for table, keys := range users {
			if s.group || (table == "orders") == (s.kind == sluice.KindGoods) {
				for _, i := range s.claims {
					keys[b.claims[i].ID.User()] = struct{}{}
				}
			}
		}
	}
	nos := make([]any, 0, len(limits))
	for no := range limits {
		nos = append(nos, no)
	}
	for table, keys := range users {
		all := make([]sluice.UserKey, 0, len(keys))
		for k := range keys {
			all = append(all, k)
		}
		slices.SortFunc(all, func(x, y sluice.UserKey) int { return slices.Compare(x[:], y[:]) })
		for some := range slices.Chunk(all, maxRanges) {
			if err := b.readUsers(table, some, nos); err != nil {
				return err
			}
		}
	}
	return nil
}

// readUsers reads the claims of some users in one table.
func (b *batch) readUsers(table string, keys []sluice.UserKey, limits []any) error {
	text := make([]byte, 0, 256+len(keys)*100)
	// Left to itself the planner looks into the index once for each range before it reads it.
	text = fmt.Appendf(text, `FORCE INDEX (%s_claim) WHERE (`, table)
	for i, k := range keys {
		if i > 0 {
			text = append(text, ` OR `...)
		}
		text = append(text, `claim_id BETWEEN `...)
		text = append(appendHex(text, k[:]), "00000000000000000000' AND "...)
		text = append(appendHex(text, k[:]), "ffffffffffffffffffff'"...)
	}
	text = append(text, `) AND limit_no IN (`+questionMarks(len(limits))+`)`...)
	if table == "coupons" {
		text = append(text, ` ORDER BY claim_id, n`...)
	}
	return b.readRows(table, string(text), limits)
}

// readRows takes down the rows of a query.
func (b *batch) readRows(table, where string, args []any) error {
	rows, err := b.t.conn.QueryContext(b.t.ctx, knownRows(table)+` `+where, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := b.known1(rows, func(sluice.ClaimID, string) bool { return true }); err != nil {
			return err
		}
	}
	return rows.Err()
}

// knownRows reads a table's rows as known1 takes them.
func knownRows(table string) string {
	code := `NULL`
	if table == "coupons" {
		code = `code`
	}
	return `SELECT claim_id, user_id, limit_no, quantity, live_units, limit_units, campaign_no, rejected, ` + code +
		` FROM ` + table
}

// appendHex begins a literal of bytes.
func appendHex(text, b []byte) []byte { return hex.AppendEncode(append(text, "x'"...), b) }

// known1 takes down one row that is there, if it is wanted.
func (b *batch) known1(row scanner, want func(sluice.ClaimID, string) bool) error {
	var id []byte
	var who spender
	var k knownClaim
	var live, limit int64
	var rejected, code nullable
	err := row.Scan(&id, &who.user, &who.limitNo, &k.quantity, &live, &limit, &k.campaign, &rejected, &code)
	if err != nil {
		return err
	}
	cid := sluice.ClaimID(id)
	if !want(cid, who.user) {
		return nil
	}
	b.used[who] += limit
	if was, ok := b.known[cid]; ok { // another coupon of the claim
		k = was
	}
	k.user, k.reason = who.user, recordedReason(string(rejected))
	k.live += live
	if code != "" {
		k.codes = append(k.codes, string(code))
	}
	b.known[cid] = k
	return nil
}

// nullable is a text that may be NULL, which is none.
type nullable string

// Scan reads a column.
func (n *nullable) Scan(v any) error {
	*n = nullable(textOf(v))
	return nil
}
