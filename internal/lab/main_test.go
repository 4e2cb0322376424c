package lab

import (
	"fmt"
	"os"
	"strconv"
	"testing"
)

// TestMain lets this program serve slow disks as iocause does.
func TestMain(m *testing.M) {
	if len(os.Args) < 4 || os.Args[1] != "lab" || os.Args[2] != "disk" {
		os.Exit(m.Run())
	}
	size, err := strconv.ParseInt(os.Args[4], 10, 64)
	if err == nil {
		err = ServeDisk(3, &ServedFile{Size: size, Heads: slowHeads}, os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
