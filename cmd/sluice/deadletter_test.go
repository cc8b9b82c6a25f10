package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// letterServer answers as the operators' listener does, and notes what it is sent.
func letterServer(t *testing.T, sent *[]string) string {
	t.Helper()
	const one = `{"id":7,"state":"kept","error":"the ledger refuses the row itself","tries":3,
		"first_at":"2026-01-02T03:04:05Z","last_at":"2026-01-02T03:04:07Z","claim_id":"clm_x","campaign_id":"spring",
		"user_id":"alice","request_id":"r1","source":"claim","quantity":2,"epoch":4,"claimed_at":"2026-01-02T03:04:04Z"}`
	const raw = `{"id":8,"state":"kept","error":"message of an unknown version: 9","tries":1,
		"first_at":"2026-01-02T03:04:05Z","last_at":"2026-01-02T03:04:05Z","raw":"CWEBYg=="}`
	bulks := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body map[string]any
		_ = json.NewDecoder(r.Body).Decode(&body)
		text, _ := json.Marshal(body)
		*sent = append(*sent, fmt.Sprint(r.Method, " ", r.URL, " ", string(text)))
		switch {
		case r.Method == http.MethodPost:
			bulks++
			fmt.Fprintf(w, `{"done":3,"failed":1,"more":%v,"as_of":"2026-01-02T04:00:00Z"}`, bulks%2 == 1)
		case strings.HasSuffix(r.URL.Path, "/7"):
			fmt.Fprint(w, one)
		case strings.HasSuffix(r.URL.Path, "/8"):
			fmt.Fprint(w, raw)
		default:
			fmt.Fprintf(w, `{"items":[%s,%s],"as_of":"2026-01-02T04:00:00Z"}`, raw, one)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestDeadLettersOnTheCommandLine(t *testing.T) {
	t.Setenv("TZ", "UTC")
	for _, tt := range []struct {
		args string
		want []string // of what is printed, in this order
		sent []string
	}{
		{"list --campaign spring", []string{"ID  STATE  CAMPAIGN", "8  kept", "version: 9", "7  kept",
			"spring    clm_x  alice", "2"},
			[]string{"GET /v1/admin/dead-letters?campaign_id=spring&state=kept"}},
		{"show 7", []string{"Dead letter 7: kept", "refuses the row", "tries     3, from", "clm_x (claim)",
			"spring, epoch 4", "alice", "r1", "units     2"}, []string{"GET /v1/admin/dead-letters/7"}},
		{"show 8", []string{"message   4 bytes", "09 61 01 62"}, []string{"GET /v1/admin/dead-letters/8"}},
		{"replay 7 8 --reason mended", []string{"6 dead letters replayed", "2 of them still cannot be read"},
			[]string{`POST /v1/admin/dead-letters/replay {"ids":[7,8],"reason":"mended"}`}},
		{"discard --all --user bob --confirm all", []string{"6 dead letters discarded"},
			[]string{"GET /v1/admin/dead-letters?limit=1",
				`POST /v1/admin/dead-letters/discard {"as_of":"2026-01-02T04:00:00Z","user_id":"bob"}`,
				`POST /v1/admin/dead-letters/discard {"as_of":"2026-01-02T04:00:00Z","user_id":"bob"}`}},
		{"replay --all --as-of 2026-01-01T00:00:00Z --json", []string{`"done": 6`, `"more": false`},
			[]string{`POST /v1/admin/dead-letters/replay {"as_of":"2026-01-01T00:00:00Z"}`}},
	} {
		var sent []string
		args := append([]string{"deadletter"}, strings.Fields(tt.args)...)
		args = append(args, "--admin-url", letterServer(t, &sent))
		out, errs, code := run(t, []string{"SLUICE_ADMIN_KEY=0123456789abcdef"}, args...)
		rest := out
		for _, w := range tt.want {
			_, after, ok := strings.Cut(rest, w)
			if !ok {
				t.Errorf("%s: %q is missing or out of order (code %d, %s):\n%s", tt.args, w, code, errs, out)
				break
			}
			rest = after
		}
		all := strings.Join(sent, "\n")
		for _, s := range tt.sent {
			if !strings.Contains(all, s) {
				t.Errorf("%s sent\n%s\nwant %s", tt.args, all, s)
			}
		}
	}
}
