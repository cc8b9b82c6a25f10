//go:build unix && !linux

package servers

import "syscall"

// attributes has nothing to offer here: what a killed test process started is left to its user.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }
