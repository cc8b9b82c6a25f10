package client_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/client"
)

// FuzzAnswer hands the client any answer to a claim. It must not panic; it believes a win only where the server says
// so, and it takes an outcome for settled only where the answer settles it.
func FuzzAnswer(f *testing.F) {
	for _, media := range []string{"application/json", "application/problem+json", "text/html"} {
		for _, status := range []int{200, 302, 409, 429, 502, 503} {
			f.Add(status, media, `{"code":"CONFIRMED","state":"confirmed","claim_id":"clm_1"}`)
			f.Add(status, media, `{"code":"BUSY","retry_after_ms":-5,"errors":[{}]}`)
			f.Add(status, media, `{"code":"BUSY","retry_after_ms":-9000000000000000}`)
			f.Add(status, media, `{"items":[]}`)
		}
	}
	f.Fuzz(func(t *testing.T, status int, media, body string) {
		status = 200 + (status&0xffff)%400
		posts := 0
		c := client.New("http://sale", nil)
		c.Patience = time.Nanosecond
		c.Rand = func() float64 { return 0.5 }
		c.HTTPClient = &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodPost {
				posts++
			}
			return answer(status, media, body), nil
		})}
		claim, err := c.Claim(t.Context(), "spring", client.ClaimOptions{NoWait: true})
		switch {
		case posts > 1:
			t.Errorf("sent %d times without being told that there is none", posts)
		case (claim == nil) == (err == nil):
			t.Errorf("neither or both: %+v, %v", claim, err)
		case err == nil && (claim.Code == "" || status >= 500 || media != "application/json" && claim.Won()):
			t.Errorf("status %d, %s, %q was taken for %+v", status, media, body, claim)
		case err != nil && status >= 500 && !errors.Is(err, sluice.ErrUncertain) && !errors.Is(err, sluice.ErrUnavailable):
			t.Errorf("status %d settles nothing, and was taken for %v", status, err)
		}
	})
}
