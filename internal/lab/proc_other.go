//go:build !linux

package lab

import "os/exec"

func processCPU(int) (float64, bool) { return 0, false }
func ownCPU() float64                { return 0 }
func machineCPU() (float64, bool)    { return 0, false }
func memoryStore(string) bool        { return false }
func tie(*exec.Cmd)                  {}
