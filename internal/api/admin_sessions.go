package api

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluice-sale/sluice"
)

// SessionDesk opens and closes browser sessions. A closed session, and one whose key is revoked, is refused as soon as
// the call has answered, on other nodes within a second.
type SessionDesk interface {
	// Open makes a session of k and gives its secret, which is shown this once.
	Open(ctx context.Context, k sluice.APIKey, agent string, a sluice.Actor) (secret string, s sluice.Session, err error)
	// Who says whom a secret stands for. ErrNotFound: nobody, or no more.
	Who(ctx context.Context, secret string) (sluice.APIKey, sluice.Session, error)
	List(ctx context.Context) ([]sluice.Session, error)
	Close(ctx context.Context, id string, a sluice.Actor) (sluice.Session, error)
}

// The session's cookie, and the header that a page of ours puts the session's CSRF token into.
const (
	sessionCookie = "sluice_session"
	csrfHeader    = "X-CSRF-Token"
	maxSecret     = 64
)

type (
	signInBody struct {
		Key string `json:"key,omitempty" maxLength:"512" doc:"Required: an API key of an operator"`
	}
	sessionAnswer struct {
		ID        string      `json:"id"`
		Name      string      `json:"name" doc:"Of the API key that opened it"`
		KeyID     string      `json:"key_id"`
		Role      sluice.Role `json:"role" enum:"viewer,support,operator,admin"`
		Areas     []string    `json:"areas,omitempty" nullable:"false" doc:"Of one's own: its key's scope; none: all"`
		ReadOnly  bool        `json:"read_only,omitempty" doc:"Of one's own: its key's scope"`
		CSRFToken string      `json:"csrf_token,omitempty" doc:"Header X-CSRF-Token of every call but GET and HEAD"`
		CreatedAt time.Time   `json:"created_at"`
		ExpiresAt time.Time   `json:"expires_at"`
		Addr      string      `json:"addr,omitempty"`
		Agent     string      `json:"agent,omitempty" doc:"What the browser calls itself"`
		Current   bool        `json:"current" doc:"The session that asks"`
	}
	sessionOutput struct {
		SetCookie http.Cookie `header:"Set-Cookie"`
		Body      sessionAnswer
	}
	sessionListOutput struct {
		Body struct {
			Items []sessionAnswer `json:"items" nullable:"false"`
		}
	}
)

func sessionAnswerOf(s *sluice.Session, role sluice.Role, current string) sessionAnswer {
	return sessionAnswer{ID: s.ID, Name: s.Name, KeyID: s.KeyID, Role: role, CreatedAt: s.CreatedAt.Time(),
		ExpiresAt: s.ExpiresAt.Time(), Addr: s.Addr, Agent: s.Agent, Current: s.ID == current}
}

// own is the answer about the session that asks: with the scope of its key.
func (s sessionAnswer) own(k *sluice.APIKey) sessionAnswer {
	s.Areas, s.ReadOnly = k.Scope.Areas, k.Scope.ReadOnly
	return s
}

// csrfOf gives the token that belongs to a session's secret. It is worth nothing without the cookie.
func csrfOf(secret string) string {
	h := hmac.New(sha256.New, []byte(secret))
	h.Write([]byte("sluice csrf"))
	return hex.EncodeToString(h.Sum(nil))
}

// registerSessions adds signing in and out, and the list of who is.
func (a *Admin) registerSessions(api huma.API) {
	desk := a.deps.Sessions
	if desk == nil {
		return
	}
	open := op("POST", "/v1/admin/sessions", "Sign in: a cookie for an API key", anybody)
	open.Description = "Needs the key in the body. The cookie is HttpOnly and SameSite=Strict, and Secure under TLS; " +
		"it ends after 12 h, and with its key."
	open.Security, open.DefaultStatus = nil, http.StatusCreated
	huma.Register(api, withoutScope(open), a.signIn)
	current := withoutScope(op("GET", "/v1/admin/sessions/current", "The session that asks, and its CSRF token",
		sluice.RoleViewer))
	huma.Register(api, current, func(ctx context.Context, _ *struct{}) (*struct{ Body sessionAnswer }, error) {
		info := infoOf(ctx)
		if info.secret == "" {
			return nil, newProblem(http.StatusNotFound, "NO_SESSION", "this call came with an API key, without a session")
		}
		own := sessionAnswerOf(&info.session, info.key.Role, info.session.ID).own(&info.key)
		out := &struct{ Body sessionAnswer }{own}
		out.Body.CSRFToken = csrfOf(info.secret)
		return out, nil
	})
	huma.Register(api, withoutScope(op("DELETE", "/v1/admin/sessions/current", "Sign out", sluice.RoleViewer)), a.signOut)
	huma.Register(api, op("GET", "/v1/admin/sessions", "Who is signed in", sluice.RoleAdmin),
		func(ctx context.Context, _ *struct{}) (*sessionListOutput, error) {
			all, err := desk.List(ctx)
			if err != nil {
				return nil, problemOf(err)
			}
			out := &sessionListOutput{}
			out.Body.Items = make([]sessionAnswer, len(all))
			for i := range all {
				out.Body.Items[i] = sessionAnswerOf(&all[i], all[i].Role, infoOf(ctx).session.ID)
			}
			return out, nil
		})
	huma.Register(api, op("DELETE", "/v1/admin/sessions/{id}", "End somebody's session", sluice.RoleAdmin),
		func(ctx context.Context, in *struct {
			ID     string `path:"id" maxLength:"64"`
			Reason string `query:"reason" maxLength:"500"`
		}) (*struct{ Body sessionAnswer }, error) {
			s, err := desk.Close(ctx, in.ID, actorBecause(ctx, in.Reason))
			if err != nil {
				return nil, problemOf(err)
			}
			return &struct{ Body sessionAnswer }{sessionAnswerOf(&s, s.Role, infoOf(ctx).session.ID)}, nil
		})
}

// signIn trades a key for a session. Another site cannot have a browser sign in under a key of its own choice: its
// requests tell where they come from.
func (a *Admin) signIn(ctx context.Context, in *struct{ Body signInBody }) (*sessionOutput, error) {
	info := infoOf(ctx)
	if info.foreign {
		return nil, foreignSite()
	}
	key, err := authenticateKey(ctx, a.deps.Keys, a.fails, info.addr, []byte(in.Body.Key))
	if err != nil {
		return nil, problemOf(err)
	}
	if key.Role == sluice.RoleMerchant {
		return nil, newProblem(http.StatusForbidden, codeForbidden, "a merchant's key opens no session")
	}
	info.key = key
	secret, s, err := a.deps.Sessions.Open(ctx, key, info.agent, actorOf(ctx))
	if err != nil {
		return nil, problemOf(err)
	}
	out := &sessionOutput{Body: sessionAnswerOf(&s, key.Role, s.ID).own(&key)}
	out.Body.CSRFToken = csrfOf(secret)
	out.SetCookie = info.cookie(secret, int((s.ExpiresAt-s.CreatedAt)/1000))
	return out, nil
}

func (a *Admin) signOut(ctx context.Context, _ *struct{}) (*sessionOutput, error) {
	info := infoOf(ctx)
	if info.secret == "" {
		return nil, newProblem(http.StatusNotFound, "NO_SESSION", "this call came with an API key, without a session")
	}
	_, err := a.deps.Sessions.Close(ctx, info.session.ID, actorOf(ctx))
	if err != nil && !errors.Is(err, sluice.ErrNotFound) {
		return nil, problemOf(err)
	}
	out := &sessionOutput{SetCookie: info.cookie("", -1)}
	out.Body = sessionAnswerOf(&info.session, info.key.Role, "")
	return out, nil
}

// cookie makes the session's cookie: scripts cannot read it, and no other site's page has it sent.
func (i *requestInfo) cookie(secret string, maxAge int) http.Cookie {
	return http.Cookie{Name: sessionCookie, Value: secret, Path: "/", MaxAge: maxAge, Secure: i.secure, HttpOnly: true,
		SameSite: http.SameSiteStrictMode}
}

// enter checks the session of r's cookie, and for what changes something that the call comes from a page of ours.
func (a *Admin) enter(r *http.Request, info *requestInfo) (sluice.APIKey, error) {
	refused := newProblem(http.StatusUnauthorized, codeUnauthenticated, "a valid API key or session is needed")
	c, err := r.Cookie(sessionCookie)
	if err != nil || c.Value == "" || len(c.Value) > maxSecret {
		return sluice.APIKey{}, refused
	}
	if hash := sha256.Sum256([]byte(c.Value)); !a.guesses.known(hash) && !a.guesses.may(info.addr) {
		return sluice.APIKey{}, refused // without a look at the ledger
	}
	key, s, err := a.deps.Sessions.Who(r.Context(), c.Value)
	switch hash := sha256.Sum256([]byte(c.Value)); {
	case errors.Is(err, sluice.ErrNotFound):
		a.guesses.bad(info.addr, hash)
		return key, refused
	case err != nil:
		return key, err
	default:
		a.guesses.good(hash)
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		if info.foreign {
			return key, foreignSite()
		}
		if !hmac.Equal([]byte(r.Header.Get(csrfHeader)), []byte(csrfOf(c.Value))) {
			return key, newProblem(http.StatusForbidden, "CSRF_TOKEN", "header "+csrfHeader+
				" must be the session's csrf_token: GET /v1/admin/sessions/current tells it")
		}
	}
	info.session, info.secret = s, c.Value
	return key, nil
}

func foreignSite() *Problem {
	return newProblem(http.StatusForbidden, "FOREIGN_SITE", "this call was made by a page of another site")
}

// foreign says whether a browser tells that r was made by a page of another site. Where it tells nothing, the CSRF
// token decides.
func foreign(r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
		return true
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return false
	}
	u, err := url.Parse(origin)
	return err != nil || !strings.EqualFold(u.Host, r.Host)
}

// secure says whether the browser speaks TLS, with us or with a proxy that we trust.
func (p proxies) secure(r *http.Request) bool {
	if r.TLS != nil {
		return true
	}
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && p.trust(peer.Addr().Unmap()) && strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https")
}

// anybody is the role of a call that needs none.
const anybody sluice.Role = "anybody"

// permit checks who asks, by API key or by session, and notes whose key it is.
func (a *Admin) permit(r *http.Request, need sluice.Role) error {
	info := infoOf(r.Context())
	if need == anybody {
		return nil
	}
	header := r.Header.Get("Authorization")
	var key sluice.APIKey
	var err error
	if header == "" && a.deps.Sessions != nil && r.Header.Get("Cookie") != "" {
		key, err = a.enter(r, info)
	} else {
		key, err = authenticateKey(r.Context(), a.deps.Keys, a.fails, info.addr, bearer([]byte(header)))
	}
	if err != nil {
		return err
	}
	if !key.Role.Covers(need) {
		return newProblem(http.StatusForbidden, codeForbidden, "this call needs an API key of role "+string(need))
	}
	info.key = key
	return nil
}
