package servers

import "syscall"

// attributes make the kernel kill a server whose test process is gone, however it went.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
