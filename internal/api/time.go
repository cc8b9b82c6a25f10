package api

import (
	"net/http"
	"strconv"

	"github.com/sluice-sale/sluice"
)

// timeAnswer is the page's clock.
type timeAnswer struct {
	ServerTimeMS int64 `json:"server_time_ms" doc:"The server's clock, UTC milliseconds since 1970"`
}

type healthAnswer struct {
	Status string `json:"status" enum:"ok"`
}

func timeRoutes() []route {
	return []route{
		{
			method: "GET", path: "/v1/time", lane: laneFree, handle: (*Public).time,
			doc: opDoc{summary: "The server's clock", tag: "Campaigns", response: timeAnswer{},
				query: []paramDoc{{"campaign", "string", "Said by an open page of a campaign, once a minute, so that " +
					"operators see about how many wait for it. It is counted; one that is not there is no fault",
					0, sluice.MaxCampaignID}},
				detail: "Never cached, no I/O. Take the best of five samples by round trip; " +
					"the cached campaign answer must not be the clock."},
		},
		{
			method: "GET", path: "/healthz", lane: laneFree, handle: (*Public).health,
			doc: opDoc{summary: "Whether the process answers", tag: "Health", response: healthAnswer{}},
		},
	}
}

func (p *Public) time(c *call) {
	if open := c.ctx.QueryArgs().Peek("campaign"); len(open) > 0 && p.cfg.OnPage != nil {
		p.cfg.OnPage(unsafeString(open))
	}
	out := append(c.out[:0], `{"server_time_ms":`...)
	out = strconv.AppendInt(out, int64(c.now()), 10)
	c.out = append(out, '}')
	c.raw(http.StatusOK, typeJSON, c.out)
}

func (p *Public) health(c *call) { c.raw(http.StatusOK, typeJSON, []byte(`{"status":"ok"}`)) }
