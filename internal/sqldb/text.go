package sqldb

import (
	"regexp"
	"strings"
	"sync"
)

// Every statement of this package is a constant text in the words of SQLite, and both databases run it:
//
//   - placeholders are ? or, where one argument stands in several places, ?1, ?2, … (never both in one text);
//   - INSERT OR IGNORE and ON CONFLICT … DO UPDATE SET x = excluded.x are upserts;
//   - FOR UPDATE at the end of a SELECT locks the rows where there are several writers; SQLite, which has one, does not
//     see it;
//   - x ->> '$.a' reads JSON, length(?) counts the characters of an argument.
//
// What cannot be said for both at once is said twice, in a perDialect. No literal may hold a ? or one of these words.

// dialect is a database's way of saying things.
type dialect int

const (
	dialectSQLite dialect = iota
	dialectMySQL
)

// perDialect is a statement that the two databases need in different words.
type perDialect struct{ sqlite, mysql string }

func (d dialect) pick(p perDialect) string {
	if d == dialectMySQL {
		return p.mysql
	}
	return p.sqlite
}

// statement is a text as one database wants it. order gives, for each ? of the text, the index of its argument; nil
// means that they stand in order.
type statement struct {
	text  string
	order []int
}

// arrange puts arguments in the order in which the text wants them.
func arrange[T any](s statement, args []T) []T {
	if s.order == nil {
		return args
	}
	out := make([]T, len(s.order))
	for i, n := range s.order {
		out[i] = args[n]
	}
	return out
}

// maxTexts bounds the texts that are kept translated: lists of several lengths make more texts than there are
// statements in the source.
const maxTexts = 4096

// texts keeps what was translated.
type texts struct {
	mu   sync.RWMutex
	made map[string]statement
}

// of translates a text for MySQL.
func (t *texts) of(query string) statement {
	t.mu.RLock()
	s, ok := t.made[query]
	t.mu.RUnlock()
	if ok {
		return s
	}
	s = forMySQL(query)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.made == nil {
		t.made = map[string]statement{}
	}
	if len(t.made) < maxTexts {
		t.made[query] = s
	}
	return s
}

const lockRows = ` FOR UPDATE`

// forSQLite leaves out what SQLite has no word for.
func forSQLite(query string) string { return strings.TrimSuffix(query, lockRows) }

// rewrites are carried out in their order.
var rewrites = []struct {
	from *regexp.Regexp
	to   string
}{
	{regexp.MustCompile(`\bINSERT OR IGNORE\b`), `INSERT IGNORE`},
	{regexp.MustCompile(`\bON CONFLICT\s*(\([^)]*\))?\s*DO UPDATE SET\b`), `ON DUPLICATE KEY UPDATE`},
	{regexp.MustCompile(`\bexcluded\.(\w+)`), `VALUES($1)`},
	{regexp.MustCompile(`\blength\(`), `CHAR_LENGTH(`},
	{regexp.MustCompile(`\bbefore\b`), "`before`"}, // reserved, and a column of the audit log
	{regexp.MustCompile(`([\w.]+)\s*->>\s*('[^']*')`), `JSON_UNQUOTE(JSON_EXTRACT($1, $2))`},
}

// forMySQL says a text in words that MariaDB, MySQL and TiDB understand.
func forMySQL(query string) statement {
	for _, r := range rewrites {
		query = r.from.ReplaceAllString(query, r.to)
	}
	var b strings.Builder
	var order []int
	for i := 0; i < len(query); i++ {
		b.WriteByte(query[i])
		if query[i] != '?' {
			continue
		}
		n, end := 0, i+1
		for ; end < len(query) && query[end] >= '0' && query[end] <= '9'; end++ {
			n = n*10 + int(query[end]-'0')
		}
		if n > 0 {
			order = append(order, n-1)
		}
		i = end - 1
	}
	return statement{text: b.String(), order: order}
}
