package analysis_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/analysis"
)

func read(t *testing.T, r io.Reader) sluice.Analysis {
	t.Helper()
	a := analysis.New(analysis.Config{Campaign: "spring"})
	if err := a.Read(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	return a.Result()
}

func seed(t *testing.T) uint64 {
	t.Helper()
	s := rand.Uint64() >> 33
	t.Logf("seed %d", s)
	return s
}

// naive is what one line says, by way of encoding/json.
type naive struct {
	Time       time.Time
	Campaign   string
	Reason     string
	User       string
	Device     string
	Addr       string
	Rule       string
	Challenged bool
	Replayed   bool
	Quantity   int64
}

// What is exact is what a count by hand gives; what is estimated is within its own error.
func TestAgainstACountByHand(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	if _, err := io.Copy(&log, newSale(seed(t), 60_000, 0.4)); err != nil {
		t.Fatal(err)
	}
	got := read(t, bytes.NewReader(log.Bytes()))
	reasons, seconds := map[string]int64{}, map[int64]int64{}
	users, refusedBy := map[string]bool{}, map[string]int64{}
	var units, challenged, ruled int64
	for text := range bytes.Lines(log.Bytes()) {
		var l naive
		if err := json.Unmarshal(text, &l); err != nil {
			t.Fatal(err)
		}
		reasons[l.Reason]++
		seconds[l.Time.Truncate(time.Second).UnixMilli()]++
		users[l.User] = true
		if l.Rule != "" {
			ruled++
		}
		switch {
		case l.Reason == "CONFIRMED":
			units += l.Quantity
			if l.Challenged {
				challenged += l.Quantity
			}
		case l.Reason == "SOLD_OUT":
			refusedBy[l.Device]++
		}
	}
	for _, r := range got.Reasons {
		if reasons[r.Reason] != r.Count {
			t.Errorf("%s: %d, want %d", r.Reason, r.Count, reasons[r.Reason])
		}
		delete(reasons, r.Reason)
	}
	for _, s := range got.Seconds {
		sum := s.Replayed
		for _, n := range s.Counts {
			sum += n
		}
		if seconds[s.StartMS] != sum {
			t.Errorf("second %d: %d, want %d", s.StartMS, sum, seconds[s.StartMS])
		}
	}
	if len(reasons) != 0 || len(got.Seconds) != len(seconds) || got.Units.Total != units ||
		got.Units.Challenged != challenged || got.Rules[0].Decisions != ruled || got.StartsMS != opening.UnixMilli() {
		t.Errorf("left %v; %d seconds of %d; units %+v, want %d and %d challenged; rules %+v, want %d", reasons,
			len(got.Seconds), len(seconds), got.Units, units, challenged, got.Rules, ruled)
	}
	if n := float64(got.Distinct[0].Count) / float64(len(users)); n < 0.95 || n > 1.05 {
		t.Errorf("%d users, want about %d", got.Distinct[0].Count, len(users))
	}
	tops := got.Refusals[slices.IndexFunc(got.Refusals, func(r sluice.RefusalTops) bool { return r.Reason == "SOLD_OUT" })]
	if tops.Tops[0].Kind != "device" || len(tops.Tops[0].Items) != analysis.DefaultTop {
		t.Fatalf("tops %+v", tops)
	}
	for _, item := range tops.Tops[0].Items {
		if n := refusedBy[item.Key]; n > item.Count || n < item.Count-item.Error || !strings.HasPrefix(item.Key, "farm") {
			t.Errorf("%+v, and it had %d", item, n)
		}
	}
}

// The farm is found on its devices and its subnet; nobody else is.
func TestClusters(t *testing.T) {
	t.Parallel()
	got := read(t, newSale(seed(t), 60_000, 0.4))
	kinds := map[string]int{}
	for _, c := range got.Clusters {
		kinds[c.Kind]++
		if !strings.HasPrefix(c.Key, "farm") && !strings.HasPrefix(c.Key, "203.0.113.0/24") {
			t.Errorf("%+v is no farm", c)
		}
		if c.Kind == "subnet" && (c.Accounts < 350 || c.Accounts > 700 || c.Devices != 20) {
			t.Errorf("%+v: it has 500 accounts and 20 devices", c)
		}
	}
	if kinds["device"] != 20 || kinds["subnet"] != 1 || kinds["timing"] != 0 {
		t.Errorf("%v, want 20 devices and one subnet", kinds)
	}
}

// A crowd behind one carrier's address makes no cluster; the same crowd in one moment does.
func TestSharedAddress(t *testing.T) {
	t.Parallel()
	crowd := func(step time.Duration) string {
		var b strings.Builder
		for i := range 200 {
			at := opening.Add(time.Duration(i) * step).UTC().Format("2006-01-02T15:04:05.000Z07:00")
			b.WriteString(`{"time":"` + at + `","campaign":"spring","reason":"CONFIRMED","user":"u` + string(rune('一'+i)) +
				`","device":"d` + string(rune('一'+i)) + `","addr":"198.51.100.7","quantity":1}` + "\n")
		}
		return b.String()
	}
	if got := read(t, strings.NewReader(crowd(17*time.Millisecond))); len(got.Clusters) != 0 {
		t.Errorf("a carrier's customers are taken for %+v", got.Clusters)
	}
	got := read(t, strings.NewReader(crowd(0)))
	if len(got.Clusters) != 1 || got.Clusters[0].Kind != "timing" || got.Clusters[0].Units != 200 {
		t.Errorf("200 accounts at one moment are %+v", got.Clusters)
	}
}

// Lines that are none, others' lines, replays and pieces of gzip do not disturb.
func TestWhatALogMayHold(t *testing.T) {
	t.Parallel()
	good := `{"campaign":"spring","reason":"CONFIRMED","time":"2026-11-11T12:00:00.001Z","user":"a\"\\\u5f20",` +
		`"quantity":2,"took_us":1.5,"x":null}` + "\n"
	log := good + strings.Replace(good, `"x":null`, `"replayed":true`, 1) + strings.Replace(good, "spring", "other", 1) +
		"nonsense\n" + `{"campaign":"spring"}` + "\n" + strings.Replace(good, "CONFIRMED", "CONFUSED", 1) +
		strings.Repeat("x", 200_000) + "\n" + strings.Replace(good, "12:00:00.001Z", "20:00:01+08:00", 1) +
		strings.TrimSuffix(good, "\n")
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write([]byte(log))
	_ = z.Close()
	for name, r := range map[string]io.Reader{"plain": strings.NewReader(log), "gzip": &packed} {
		got := read(t, r)
		if got.Lines != 4 || got.Others != 1 || got.Unread != 4 || got.Units.Total != 6 || got.Units.Normal != 6 {
			t.Errorf("%s: %d lines, %d others, %d unread, units %+v", name, got.Lines, got.Others, got.Unread, got.Units)
		}
		if len(got.Holders) != 1 || got.Holders[0].Items[0].Key != `a"\张` || len(got.Seconds) != 2 {
			t.Errorf("%s: holders %+v, seconds %+v", name, got.Holders, got.Seconds)
		}
	}
}

// A log that spans days keeps a bounded number of rows, and loses no decision.
func TestRowsAreBounded(t *testing.T) {
	t.Parallel()
	a := analysis.New(analysis.Config{Campaign: "spring"})
	const lines = 30_000
	for i := range lines {
		at := opening.Add(time.Duration(i) * 7 * time.Second).Format(time.RFC3339)
		a.Line([]byte(`{"time":"` + at + `","campaign":"spring","reason":"ENDED"}`))
	}
	got, sum := a.Result(), int64(0)
	for _, s := range got.Seconds {
		sum += s.Counts["ENDED"]
	}
	if sum != lines || len(got.Seconds) > 7200 || got.WidthMS <= 1000 {
		t.Errorf("%d decisions in %d rows of %d ms", sum, len(got.Seconds), got.WidthMS)
	}
}

// Everybody is different: the memory stays within its bound, and no error is above the stated one.
func TestMemoryIsBounded(t *testing.T) {
	s := seed(t)
	before := heap()
	a := analysis.New(analysis.Config{Campaign: "spring"})
	const lines = manyLines
	if err := a.Read(t.Context(), newSale(s, lines, 0)); err != nil {
		t.Fatal(err)
	}
	if used := heap() - before; used > 64<<20 {
		t.Errorf("%d MB of heap, more than 64", used>>20)
	}
	for _, r := range a.Result().Refusals {
		for _, top := range r.Tops {
			if top.Error > lines/2048 {
				t.Errorf("%s by %s: an error of %d, more than %d", r.Reason, top.Kind, top.Error, lines/2048)
			}
		}
	}
	runtime.KeepAlive(a)
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	var log, packed bytes.Buffer
	_, _ = io.Copy(&log, newSale(1, 100, 0.5))
	z := gzip.NewWriter(&packed)
	_, _ = z.Write(log.Bytes())
	_ = z.Close()
	now := write("decisions.log", log.Bytes())
	old := write("decisions-2026-11-11T12-00-00.000.log", log.Bytes())
	older := write("decisions-2026-11-10T12-00-00.000.log.gz", packed.Bytes())
	write("decisions-kept.log", log.Bytes())
	all, err := analysis.Logs(now)
	if want := []string{older, old, now}; err != nil || !reflect.DeepEqual(all, want) {
		t.Fatalf("%v %v, want %v", all, err, want)
	}
	var read, of int64
	got, err := analysis.Files(t.Context(), analysis.Config{Campaign: "spring"}, append(all, "-"),
		bytes.NewReader(log.Bytes()), func(d, o int64) { read, of = d, o })
	if err != nil || got.Lines != 400 || read == 0 || of == 0 {
		t.Errorf("%d lines, %v; %d of %d bytes", got.Lines, err, read, of)
	}
	if all, err := analysis.Logs(dir); err != nil || len(all) != 4 {
		t.Errorf("the folder has %v, %v", all, err)
	}
	if all, err := analysis.Logs(filepath.Join(dir, "none.log")); err != nil || len(all) != 0 {
		t.Errorf("a log that is not there is %v, %v", all, err)
	}
	_, err = analysis.Files(t.Context(), analysis.Config{}, []string{"/no/such"}, nil, nil)
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := analysis.Files(ended, analysis.Config{}, []string{now}, nil, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// FuzzLine: what is read as a decision is JSON, and says what encoding/json reads from it.
func FuzzLine(f *testing.F) {
	for _, s := range []string{
		`{"time":"2026-11-11T12:00:00.001Z","campaign":"spring","reason":"CONFIRMED","user":"a","quantity":2}`,
		`{"time":"2026-11-11T12:00:00.001Z","campaign":"sp\u0072\ud83d\ude00ing","reason":"SOLD_OUT","addr":"10.0.0.1"}`,
		`{"time":"1999-02-30T12:00:00.001Z","campaign":"","reason":"BUSY","device":"\ud800","x":-1.5e3}`,
		`{"time":"2026-11-11T12:00:00+08:00", "campaign" : "c" , "reason":"BUSY","replayed":true,"y":null}`,
		`{}`, `{"a":1,}`, `[1]`, `{"time":"2026-13-11T12:00:00.001Z"}`, `{"quantity":01}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		a := analysis.New(analysis.Config{Campaign: "spring"})
		a.Line(b)
		r := a.Result()
		if r.Lines == 0 {
			return
		}
		var l map[string]any
		if err := json.Unmarshal(b, &l); err != nil {
			t.Errorf("%q is no JSON: %v", b, err)
		}
	})
}

// BenchmarkTenMillionLines is a sale of ten million requests.
func BenchmarkTenMillionLines(b *testing.B) {
	for b.Loop() {
		before := heap()
		a := analysis.New(analysis.Config{Campaign: "spring"})
		if err := a.Read(b.Context(), newSale(1, 10_000_000, 0.3)); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(heap()-before)/(1<<20), "MB-kept")
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		b.ReportMetric(float64(m.Sys)/(1<<20), "MB-of-system")
		runtime.KeepAlive(a)
	}
}
