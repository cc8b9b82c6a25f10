package main

import (
	"net"
	"strconv"

	"github.com/valyala/fasthttp"
)

// serveConstant answers every request with the same body of size bytes on addr: what the HTTP server alone can do.
func serveConstant(addr string, size int) error {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	head := `{"code":"SOLD_OUT","message":"`
	body := []byte(head)
	for len(body) < size-2 {
		body = append(body, '.')
	}
	body = append(body, `"}`...)
	s := &fasthttp.Server{
		Name: "constant " + strconv.Itoa(size), NoDefaultServerHeader: true,
		Handler: func(c *fasthttp.RequestCtx) {
			c.SetContentType("application/json")
			c.SetBody(body)
		},
	}
	return s.Serve(ln)
}
