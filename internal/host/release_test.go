package host

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"iocause/internal/require"
)

func TestUnchanged(t *testing.T) {
	const smaps = `00400000-0149a000 r-xp 00000000 fe:01 12   /opt/x
Rss:               12764 kB
Anonymous:             0 kB
0149a000-02000000 r--p 0109a000 fe:01 12   /opt/x
Anonymous:             4 kB
02000000-02100000 r--p 01c00000 fe:01 12   /opt/x
Anonymous:             0 kB
02100000-02200000 rw-p 01d00000 fe:01 12   /opt/x
Anonymous:             0 kB
7f0000000000-7f0000001000 r-xp 00000000 fe:01 13   /lib/y
Anonymous:             0 kB
7f0000002000-7f0000003000 r--p 00000000 00:00 0
Anonymous:             0 kB
`
	var got []uint64
	for _, m := range unchanged([]byte(smaps), "/opt/x") {
		got = append(got, m.Start)
	}
	if want := []uint64{0x400000, 0x2000000}; !slices.Equal(got, want) {
		t.Errorf("%#x, want %#x", got, want)
	}
}

// The program goes on, with fewer pages of its file, also where these are locked.
func TestReleaseProgram(t *testing.T) {
	for _, locked := range []bool{false, true} {
		t.Run(fmt.Sprintf("locked %t", locked), func(t *testing.T) { releases(t, locked) })
	}
}

func releases(t *testing.T, locked bool) {
	if locked {
		if err := Live().LockProgram(); err != nil {
			t.Skip(err)
		}
		t.Cleanup(func() {
			if err := unix.Munlockall(); err != nil {
				t.Error(err)
			}
		})
	}
	resident := func() uint64 {
		b, err := os.ReadFile("/proc/self/status")
		require.NoError(t, err)
		var file, memory *uint64 // the second where the file is in memory alone
		if err := Amounts(b, func(key []byte) **uint64 {
			switch string(key) {
			case "RssFile":
				return &file
			case "RssShmem":
				return &memory
			}
			return nil
		}); err != nil || file == nil || memory == nil {
			t.Fatal("the kernel does not tell what is resident of files", err)
		}
		return *file + *memory
	}
	before := resident()
	require.NoError(t, ReleaseProgram())
	if after := resident(); after >= before {
		t.Errorf("%d bytes of files are resident, were %d", after, before)
	}
}
