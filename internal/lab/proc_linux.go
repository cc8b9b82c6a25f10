package lab

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// clockTick is USER_HZ, which Linux fixes at 100 for what it shows to programs.
const clockTick = 100

// processCPU gives the seconds of CPU that process pid has used; false where that cannot be told.
func processCPU(pid int) (float64, bool) {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, false
	}
	// The name may hold spaces and brackets; what follows its last bracket does not.
	_, rest, ok := strings.Cut(string(raw[strings.LastIndexByte(string(raw), ')'):]), " ")
	f := strings.Fields(rest)
	if !ok || len(f) < 13 {
		return 0, false
	}
	user, err1 := strconv.ParseFloat(f[11], 64)
	system, err2 := strconv.ParseFloat(f[12], 64)
	return (user + system) / clockTick, err1 == nil && err2 == nil
}

// machineCPU gives the seconds of CPU that all programs together have used; false where that cannot be told.
func machineCPU() (float64, bool) {
	raw, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, false
	}
	line, _, _ := strings.Cut(string(raw), "\n")
	f := strings.Fields(line)
	if len(f) < 9 || f[0] != "cpu" {
		return 0, false
	}
	sum := 0.0
	for i, text := range f[1:9] {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return 0, false
		}
		if i != 3 && i != 4 && i != 7 { // idle, waiting for the disk, stolen by the host
			sum += v
		}
	}
	return sum / clockTick, true
}

// ownCPU gives the seconds of CPU that this process has used.
func ownCPU() float64 {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return seconds(u.Utime) + seconds(u.Stime)
}

// memoryStore says whether dir lies on a file system in memory, where an fsync costs nothing.
func memoryStore(dir string) bool {
	var st unix.Statfs_t
	return unix.Statfs(dir, &st) == nil && (st.Type == unix.TMPFS_MAGIC || st.Type == unix.RAMFS_MAGIC)
}

// tie makes the child end with this process, however that ends.
func tie(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
