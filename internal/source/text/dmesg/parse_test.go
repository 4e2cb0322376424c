package dmesg

import (
	"testing"

	"iocause/internal/sample"
	"iocause/internal/source/text/lines/linestest"
)

func tool() linestest.Tool { return linestest.Tool{Find: Find, New: New} }

func TestErrors(t *testing.T) {
	g := linestest.Fixture(t, tool(), "errors.txt")
	g.Want(sample.BlockErrors, sample.Entity{Device: "sdb", Class: "read"}, 1, 1)
	g.WantNote("2 I/O errors of device sdb")
	g.WantNote("1 I/O errors of device sdb1")
	g.WantNote("kworker/u8:2 (pid 1234) hung for 120 s")
	g.WantNote("time-outs of nvme0")
	g.WantNote("mongod was killed")
	g.WantNote("EXT4-fs on sdb1")
}

func TestOtherMessages(t *testing.T) {
	for _, s := range []string{"there was an error in the program", "XFS (sda1): Mounting V5 Filesystem", "EXT4-fs (sda1): mounted filesystem with ordered data mode", "a timeout occurred"} {
		if Find(s) >= 0 {
			t.Errorf("%q is read as a message of trouble", s)
		}
	}
}

func FuzzParse(f *testing.F) { linestest.Fuzz(f, tool()) }
