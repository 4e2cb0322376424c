package agent

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/host"
	"iocause/internal/sample"
)

// Errors that are counted while the agent looks are told once; those that were
// there before are not, nor are those of what came with its old ones.
func TestFaults(t *testing.T) {
	root := t.TempDir()
	put := func(path, content string) {
		t.Helper()
		path = filepath.Join(root, "sys", path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	var notes bytes.Buffer
	f := newFaults(host.Tree(root, time.Now), slog.New(slog.NewTextHandler(&notes, nil)))
	const stats = "fs/btrfs/0b-1c/devinfo/1/error_stats"
	put("fs/ext4/sda1/errors_count", "3\n")
	put(stats, "write_errs 0\nread_errs 2\nflush_errs 0\ncorruption_errs 0\ngeneration_errs 0\n")
	if l := f.since(); len(l) != 0 {
		t.Errorf("old errors are told: %v", l)
	}
	if l := f.since(); len(l) != 0 {
		t.Errorf("nothing happened, but there is %v", l)
	}
	put("fs/ext4/sda1/errors_count", "5\n")
	put(stats, "write_errs 1\nread_errs 4\nflush_errs 0\ncorruption_errs 0\ngeneration_errs 0\n")
	put("fs/ext4/sdb/errors_count", "7\n")
	put("fs/ext4/sdc/errors_count", "many\n")
	l := f.since()
	if len(l) != 2 || l[0] != (sample.Limit{Kind: sample.LimitErrors, Of: "0b-1c", What: "the file system 0b-1c had 3 errors of a device (btrfs)"}) ||
		l[1].What != "the file system on sda1 has found 2 errors (ext4)" {
		t.Errorf("%+v", l)
	}
	put(stats, "invalid\n")
	if l := f.since(); len(l) != 0 || strings.Count(notes.String(), "cannot be read") != 1 {
		t.Errorf("%v, %s", l, &notes)
	}
}

// An error of a real file system begins an incident.
func TestFaultsOfExt4(t *testing.T) {
	if os.Geteuid() != 0 {
		bpftest.Need(t, "root", errors.New("mounting takes root"))
	}
	dir := t.TempDir()
	image, mount := filepath.Join(dir, "image"), filepath.Join(dir, "mount")
	if err := errors.Join(os.WriteFile(image, nil, 0o600), os.Truncate(image, 16<<20), os.Mkdir(mount, 0o700)); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"mkfs.ext4", "-q", "-F", "-e", "continue", image}, {"mount", "-o", "loop", image, mount}} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			bpftest.Need(t, "loop", errors.New(args[0]+": "+string(out)))
		}
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", mount).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	device := ""
	for line := range strings.Lines(string(mounts)) {
		if w := strings.Fields(line); len(w) > 1 && w[1] == mount {
			device = filepath.Base(w[0])
		}
	}
	f := newFaults(host.Live(), slog.New(slog.DiscardHandler))
	f.since()
	// fs/ext4/sysfs.c: for tests such as this one
	if err := os.WriteFile("/sys/fs/ext4/"+device+"/trigger_fs_error", []byte("a test of iocause"), 0o200); err != nil {
		t.Fatal(err)
	}
	want := "the file system on " + device + " has found 1 errors (ext4)"
	// the kernel adds it up in the background
	for began := time.Now(); time.Since(began) < 30*time.Second; time.Sleep(20 * time.Millisecond) {
		for _, l := range f.since() {
			if l.What == want && l.Kind == sample.LimitErrors {
				return
			}
		}
	}
	t.Errorf("no limit says %q", want)
}
