//go:build unix

package main

import "syscall"

// openFiles gives how many files the process may have open.
func openFiles() (uint64, bool) {
	var r syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r); err != nil {
		return 0, false
	}
	return r.Cur, true
}

// freeBytes gives the room left on the disk of a folder.
func freeBytes(dir string) (uint64, bool) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, false
	}
	return s.Bavail * uint64(s.Bsize), true
}

// keepPrivate makes what this process creates readable by its own user only: coupon codes are in the ledger.
func keepPrivate() { syscall.Umask(0o077) }
