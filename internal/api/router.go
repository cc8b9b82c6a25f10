package api

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// authKind says who may call a route.
type authKind uint8

const (
	authNone     authKind = iota
	authBuyer             // bearer token; call.identity is set
	authMerchant          // API key of role merchant; call.key is set
	authPayment           // body signed with a payment secret
	authClaim             // the gate looks at the token itself, at its place in the funnel
)

// lane is the bound that a route's requests in flight count against, so that one kind never queues behind another.
type lane uint8

const (
	laneRest  lane = iota // payments, redemptions
	laneClaim             // claims: answers BUSY when full
	laneWait              // results, which may be waited for
	laneList              // wallet pages: shed first
	lanePass              // passes and challenges
	laneFree              // answered from memory: never shed
	numLanes
)

// route is one call of the public listener.
type route struct {
	method, path string // path segments in braces are parameters
	auth         authKind
	lane         lane
	maxBody      int // bytes; zero means the listener's
	handle       func(*Public, *call)
	doc          opDoc
}

// segment is one piece of a compiled path.
type segment struct {
	name  string // of the parameter; empty where the segment is fixed
	fixed []byte
}

type compiled struct {
	*route
	segments []segment
	allow    string // the Allow header of the path
}

// router finds routes without allocating: by the number of segments first, then in order of registration.
type router struct {
	bySize [maxSegments + 1][]compiled
}

func newRouter(routes []route) (*router, error) {
	rt := &router{}
	methods := map[string][]string{}
	for i := range routes {
		c := compiled{route: &routes[i]}
		for _, s := range strings.Split(strings.TrimPrefix(c.path, "/"), "/") {
			if name, ok := strings.CutPrefix(s, "{"); ok {
				c.segments = append(c.segments, segment{name: strings.TrimSuffix(name, "}")})
			} else {
				c.segments = append(c.segments, segment{fixed: []byte(s)})
			}
		}
		n := len(c.segments)
		if n > maxSegments || slices.Contains(methods[c.path], c.method) {
			return nil, fmt.Errorf("api: route %s %s is too long or there twice", c.method, c.path)
		}
		methods[c.path] = append(methods[c.path], c.method)
		rt.bySize[n] = append(rt.bySize[n], c)
	}
	for n := range rt.bySize {
		for i := range rt.bySize[n] {
			rt.bySize[n][i].allow = allowHeader(methods[rt.bySize[n][i].path])
		}
	}
	return rt, nil
}

func allowHeader(methods []string) string {
	all := append(slices.Clone(methods), "OPTIONS")
	if slices.Contains(all, "GET") {
		all = append(all, "HEAD")
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// split cuts path into its segments, which point into it; false where it has too many.
func split(path []byte, into *[maxSegments][]byte) (int, bool) {
	path = bytes.TrimPrefix(path, []byte("/"))
	for n := 0; ; n++ {
		i := bytes.IndexByte(path, '/')
		if n == maxSegments {
			return 0, false
		}
		if i < 0 {
			into[n] = path
			return n + 1, true
		}
		into[n], path = path[:i], path[i+1:]
	}
}

// find gives the route of method and segments. Where only the method is wrong, allow lists those that exist.
func (rt *router) find(method []byte, segments [][]byte) (found *compiled, allow string) {
	if string(method) == "HEAD" {
		method = []byte("GET")
	}
	list := rt.bySize[len(segments)]
	for i := range list {
		c := &list[i]
		if !c.matches(segments) {
			continue
		}
		if string(method) == c.method {
			return c, c.allow
		}
		allow = c.allow
	}
	return nil, allow
}

func (c *compiled) matches(segments [][]byte) bool {
	for i := range c.segments {
		s := &c.segments[i]
		if s.name != "" {
			if len(segments[i]) == 0 {
				return false
			}
		} else if !bytes.Equal(s.fixed, segments[i]) {
			return false
		}
	}
	return true
}
