package filesystem

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/require"
)

// The journal is as large as it was made.
func TestJournal(t *testing.T) {
	if _, err := exec.LookPath("mkfs.ext4"); err != nil {
		bpftest.Need(t, "mkfs.ext4", errors.New("mkfs.ext4"))
	}
	for size, want := range map[string]uint64{"-Jsize=7": 7 << 20, "-O^has_journal": 0} {
		image := filepath.Join(t.TempDir(), "image")
		require.NoError(t, os.WriteFile(image, nil, 0o600))
		require.NoError(t, os.Truncate(image, 64<<20))
		out, err := exec.Command("mkfs.ext4", "-q", "-F", size, image).CombinedOutput()
		if err != nil {
			t.Fatalf("mkfs.ext4: %v: %s", err, out)
		}
		if got := journal(image); got != want {
			t.Errorf("%s: the journal has %d bytes, want %d", size, got, want)
		}
	}
	if got := journal(filepath.Join(t.TempDir(), "none")); got != 0 {
		t.Errorf("a device that is not there has a journal of %d bytes", got)
	}
}

func TestOptionsThatMatter(t *testing.T) {
	for option, is := range map[string]bool{
		"rw": false, "data=ordered": false, "data=journal": true, "barrier=1": false, "barrier=0": true, "nobarrier": true, "commit=60": true,
		"noquota": false, "usrquota": true, "prjquota": true, "usrjquota=aquota.user": true, "discard": true, "sync": true, "errors=remount-ro": false,
		"compress=zstd:3": true, "space_cache=v2": false, "logbsize=32k": true, "seclabel": false,
	} {
		if matters(option) != is {
			t.Errorf("%s matters: %t", option, !is)
		}
	}
}
