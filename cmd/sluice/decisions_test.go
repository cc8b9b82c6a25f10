package main

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDecisionsOfOnePerson: the log tells of refusals by user, device, address, request and claim, of nobody else, and
// lines that were cut do no harm.
func TestDecisionsOfOnePerson(t *testing.T) {
	sum := sha256.Sum256([]byte("r-1"))
	path := filepath.Join(t.TempDir(), "decisions.jsonl")
	at := `{"time":"2026-12-01T08:00:0`
	text := "\"cut\":1}\n" +
		at + `1.000Z","campaign":"spring","reason":"SOLD_OUT","check":"stock","user":"alice \"a\"","device":"d1",` +
		`"addr":"192.0.2.7","request":"` + hex.EncodeToString(sum[:8]) + `","quantity":1,"took_us":20}` + "\n" +
		at + `2.000Z","campaign":"spring","reason":"CONFIRMED","user":"bob","device":"alice","claim_id":"clm_1"}` + "\n" +
		at + `3.000Z","campaign":"alice","reason":"BUSY","user":"carol","quantity":1}` + "\n" +
		at[:12]
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for q, want := range map[string]string{
		`alice "a"`: "SOLD_OUT", "d1": "SOLD_OUT", "192.0.2.7": "SOLD_OUT", "r-1": "SOLD_OUT", "clm_1": "CONFIRMED",
		"alice": "CONFIRMED", "bob": "CONFIRMED", "nobody": "", "spring": "", "20": "",
	} {
		all, err := decisionReader{path}.Decisions(t.Context(), q)
		if err != nil || (want == "") != (len(all) == 0) ||
			want != "" && (len(all) != 1 || !strings.Contains(string(all[0].Data), want) || all[0].Type != "decision") {
			t.Errorf("%q: %v %v, want %s", q, all, err, want)
		}
	}
	if all, err := (decisionReader{path + ".none"}).Decisions(t.Context(), "bob"); err != nil || len(all) != 0 {
		t.Errorf("without a log: %v %v", all, err)
	}
}

func FuzzDecisions(f *testing.F) {
	f.Add(`{"time":"2026-12-01T08:00:01.000Z","user":"a"}`+"\n", "a")
	f.Add("{\n\n{}", "\"")
	f.Fuzz(func(t *testing.T, text, q string) {
		if _, err := decisionsIn(t.Context(), strings.NewReader(text), q, "00"); err != nil {
			t.Error(err)
		}
	})
}
