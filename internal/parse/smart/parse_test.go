package smart

import (
	"slices"
	"strings"
	"testing"

	"iocause/internal/parse/lines"
	"iocause/internal/parse/lines/linestest"
	"iocause/internal/sample"
)

func tool() linestest.Tool { return linestest.Tool{Find: Find, New: New} }

func fault(device, class string) sample.Entity { return sample.Entity{Device: device, Class: class} }

func TestATA(t *testing.T) {
	g := linestest.Fixture(t, tool(), "ata.txt")
	g.Want(sample.HealthErrors, fault("sdc", unreadable), 24) // pending and found offline are the same sectors
	g.Want(sample.HealthErrors, fault("sdc", uncorrected), 17)
	g.Want(sample.HealthErrors, fault("sdc", failedTest), 1)
	g.Want(sample.HealthWarnings, fault("sdc", ""), 0)
	g.WantNote("sdc has reallocated 1432 sectors")
	g.WantNote("check the cable")
	if g.Uses[lines.Foreign] > 0 || !g.IsState {
		t.Errorf("uses %v, a state: %v", g.Uses, g.IsState)
	}
}

func TestNVMe(t *testing.T) {
	g := linestest.Fixture(t, tool(), "nvme.txt")
	g.Want(sample.HealthErrors, fault("nvme1", uncorrected), 41)
	g.Want(sample.HealthWarnings, fault("nvme1", "failing"), 1)
}

func TestSCSI(t *testing.T) {
	g := linestest.Fixture(t, tool(), "scsi.txt")
	g.Want(sample.HealthWarnings, fault("sg4", ""), 1)
	g.Want(sample.HealthErrors, fault("sg4", uncorrected), 4)
	g.WantNote("IMPENDING FAILURE")
	g.WantNote("reallocated 211 sectors")
}

// A disk that has written what its maker promised warns of that, and is well;
// values that are low by age alone are no fault either.
func TestWorn(t *testing.T) {
	g := linestest.Read(t, tool(), "SMART overall-health self-assessment test result: FAILED!\nSMART/Health Information (NVMe Log 0x02)\n"+
		"Critical Warning:  0x04\nAvailable Spare:   100%\nAvailable Spare Threshold:  10%\nPercentage Used:  134%\nMedia and Data Integrity Errors:  0\n")
	g.Want(sample.HealthErrors, fault("disk", uncorrected), 0)
	g.Want(sample.HealthWarnings, fault("disk", ""))
	g.WantNote("rated endurance")
	for row, want := range map[string][]float64{
		"  9 Power_On_Hours          0x0032   001   001   010    Old_age   Always   FAILING_NOW 90000": nil,
		"  3 Spin_Up_Time            0x0027   001   001   021    Pre-fail  Always   FAILING_NOW 9900":  {1},
		"  3 Spin_Up_Time            POS--K   001   001   021    NOW  9900":                            {1},
	} {
		g := linestest.Read(t, tool(), row)
		g.Want(sample.HealthErrors, fault("disk", below), want...)
	}
}

// Pieces, as people quote them: the device is the last that the text names.
func TestPieces(t *testing.T) {
	g := linestest.Read(t, tool(), "It is `/dev/sde`, > /dev/null\n\nCurrent_Pending_Sector   val=099 worst=098 thresh=000  raw=8\nPower_On_Hours   raw=1 (~1 yr)\n")
	g.Want(sample.HealthErrors, fault("sde", unreadable), 8)
	g = linestest.Read(t, tool(), "=== START OF INFORMATION SECTION ===\nDevice Model:     EX4000\nDevice is:        In smartctl database\nMedia and Data Integrity Errors: 3\n")
	g.Want(sample.HealthErrors, fault("EX4000", uncorrected), 3)
	g = linestest.Read(t, tool(), "197 Current_Pending_Sector  0x0012   100   100   000    Old_age   Always")
	if !slices.ContainsFunc(g.Faults, func(s string) bool { return strings.Contains(s, "Current_Pending_Sector") }) {
		t.Errorf("a row that is cut off: %q", g.Faults)
	}
	for _, other := range []string{"Available Spare: see below", "1 Some text about A_thing 4 5", "197 Current_Pending_Sector", "iostat: 3", "12 12.5 3.0 4 5 6"} {
		if Find(other) >= 0 {
			t.Errorf("%q is taken for SMART", other)
		}
	}
}

func FuzzParse(f *testing.F) { linestest.Fuzz(f, tool()) }

// The state of a write cache, as three tools print it.
func TestWriteCache(t *testing.T) {
	for text, want := range map[string]struct {
		device string
		on     float64
	}{
		"$ hdparm -W /dev/sda\n\n/dev/sda:\n write-caching =  0 (off)\n":                                          {"sda", 0},
		"$ hdparm -W /dev/sdb\n\n/dev/sdb:\n write-caching =  1 (on)\n":                                           {"sdb", 1},
		"$ smartctl -g wcache /dev/sdc\nWrite cache is:   Disabled\n":                                             {"sdc", 0},
		"# nvme get-feature /dev/nvme0 -f 6 -H\n\tVolatile Write Cache Enable (WCE): Disabled\n":                  {"nvme0", 0},
		"# nvme get-feature /dev/nvme1 -f 6\nget-feature:0x06 (Volatile Write Cache), Current value:0x00000001\n": {"nvme1", 1},
	} {
		g := linestest.Read(t, tool(), text)
		g.Want(sample.DeviceCacheThere, fault(want.device, ""), 1)
		g.Want(sample.DeviceCacheOn, fault(want.device, ""), want.on)
	}
}

// Counts have marks between thousands.
func TestThousands(t *testing.T) {
	g := linestest.Read(t, tool(), "SMART/Health Information (NVMe Log 0x02)\nCritical Warning:  0x00\nPercentage Used:  3%\nMedia and Data Integrity Errors:  1,234\n")
	g.Want(sample.HealthErrors, fault("disk", uncorrected), 1234)
}
