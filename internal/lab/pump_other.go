//go:build !linux

package lab

func newPump(s *shift, who int) pump { return newNetPump(s, who) }
