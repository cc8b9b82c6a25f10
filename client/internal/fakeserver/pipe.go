package fakeserver

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
)

// Listen serves s over pipes instead of sockets and gives a client that reaches it at any address. Pipes work inside a
// testing/synctest bubble, where sockets do not. stop ends both.
func (s *Server) Listen() (hc *http.Client, stop func()) {
	l := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
	server := &http.Server{Handler: s, ErrorLog: log.New(io.Discard, "", 0)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(l)
	}()
	transport := &http.Transport{DialContext: l.dial}
	return &http.Client{Transport: transport}, func() {
		transport.CloseIdleConnections()
		_ = server.Close()
		<-done
	}
}

// pipes is a net.Listener whose connections are pipes.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{} // closed by Close, once: only http.Server calls it
}

func (p *pipes) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case p.conns <- far:
		return near, nil
	case <-p.closed:
		return nil, &net.OpError{Op: "dial", Net: network, Err: net.ErrClosed}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept waits for the next connection.
func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close ends Accept.
func (p *pipes) Close() error {
	close(p.closed)
	return nil
}

// Addr names the listener.
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes", Net: "pipe"} }
