package cli

import (
	"bytes"
	"encoding/csv"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/host"
	"iocause/internal/require"
)

// readBack reads a text back and adds up the values of a metric, of a device or
// process if one is named.
func readBack(t *testing.T, text, metric, device, pid string) (sum float64, n int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	a := &env{streams: streams{stdin: strings.NewReader(text), stdout: &stdout, stderr: &stderr}, host: host.Live()}
	if code := runLine(t.Context(), a, []string{"read", "--series"}); code != 0 {
		t.Fatalf("code %d: %s of\n%s", code, &stderr, text)
	}
	if strings.Contains(stderr.String(), "stdin:") {
		t.Errorf("not all is understood: %s of\n%s", &stderr, text)
	}
	rows, err := csv.NewReader(&stdout).ReadAll()
	if err != nil || len(rows) == 0 {
		t.Fatalf("%d rows: %v", len(rows), err)
	}
	column := map[string]int{}
	for i, name := range rows[0] {
		column[name] = i
	}
	for _, r := range rows[1:] {
		if r[column["metric"]] != metric || device != "" && r[column["device"]] != device || pid != "" && r[column["pid"]] != pid {
			continue
		}
		v, err := strconv.ParseFloat(r[column["value"]], 64)
		require.NoError(t, err)
		sum, n = sum+v, n+1
	}
	return sum, n
}

// printed is what a tool prints.
func printed(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v: %s", name, args, err, out)
	}
	return string(out)
}

// loop makes a device that nothing else uses and reads it at a steady rate
// until the test ends; it returns the device's name.
func loop(t *testing.T) string {
	t.Helper()
	peer(t, "fio", "fio")
	path := bpftest.File(t, 4096)
	out, err := exec.Command("losetup", "--find", "--show", path).CombinedOutput()
	if err != nil {
		t.Skipf("needs a loop device: %v: %s", err, out)
	}
	device := strings.TrimSpace(string(out))
	t.Cleanup(func() {
		if out, err := exec.Command("losetup", "--detach", device).CombinedOutput(); err != nil {
			t.Errorf("losetup: %v: %s", err, out)
		}
	})
	readAt(t, "501", "--filename="+device)
	return filepath.Base(device)
}

// Tools that Debian packages are run under a steady load, and what they print
// is read back: the same reads a second that the kernel counts meanwhile.
func TestReadBack(t *testing.T) {
	if testing.Short() {
		t.Skip("the figures are looked at without -short")
	}
	peer(t, "sar", "sysstat")
	device := loop(t)
	stats := func() string {
		b, err := os.ReadFile("/proc/diskstats")
		require.NoError(t, err)
		return string(b)
	}
	agree(t, func() error {
		recording := filepath.Join(t.TempDir(), "sa")
		sadc := exec.CommandContext(t.Context(), "/usr/lib/sysstat/sadc", "-S", "DISK", "1", "4", recording)
		require.NoError(t, sadc.Start())
		begun, before := time.Now(), stats()
		texts := map[string]string{"iostat": "$ iostat -x -d -y 1 3\n" + printed(t, "iostat", "-x", "-d", "-y", "1", "3", device)}
		counted, _ := readBack(t, before+"\n"+stats(), "disk.reads", device, "")
		rate := counted / time.Since(begun).Seconds()
		require.NoError(t, sadc.Wait())
		texts["sar"] = printed(t, "sar", "-d", "-B", "-f", recording)
		texts["sadf -d"] = printed(t, "sadf", "-d", recording, "--", "-d")
		texts["sadf -j"] = printed(t, "sadf", "-j", recording, "--", "-d", "-B")
		sums := map[string]float64{}
		for name, text := range texts {
			sum, n := readBack(t, text, "disk.reads", device, "")
			if n != 3 {
				t.Errorf("%s: %d intervals, want 3, of\n%s", name, n, text)
			}
			if err := near(name, sum/3, rate, 0.1); err != nil {
				return err
			}
			sums[name] = sum
		}
		for _, name := range []string{"sadf -d", "sadf -j"} { // of one recording: to the digits that are printed
			if math.Abs(sums[name]-sums["sar"]) > 3*0.01 {
				t.Errorf("%s: %.6g reads, sar has %.6g", name, sums[name], sums["sar"])
			}
		}
		return nil
	})
}

// States of the machine and counts of calls are exact.
func TestReadBackExactly(t *testing.T) {
	text := "$ free -b\n" + printed(t, peer(t, "free", "procps"), "-b")
	shown, n := readBack(t, text, "mem.total", "", "")
	info, err := os.ReadFile("/proc/meminfo")
	require.NoError(t, err)
	whole, _ := readBack(t, string(info), "mem.total", "", "")
	if n != 1 || shown != whole {
		t.Errorf("free has %.0f bytes in %d values, /proc/meminfo %.0f", shown, n, whole)
	}
	text = printed(t, "dd", "if=/dev/zero", "of="+filepath.Join(t.TempDir(), "f"), "bs=4k", "count=37", "oflag=dsync")
	if v, n := readBack(t, text, "proc.write_calls", "", ""); n != 1 || v != 37 {
		t.Errorf("%.0f calls in %d values of\n%s", v, n, text)
	}
	trace := filepath.Join(t.TempDir(), "trace")
	printed(t, peer(t, "strace", "strace"), "-f", "-T", "-tt", "-o", trace, "dd", "if=/dev/zero", "of="+filepath.Join(t.TempDir(), "f"), "bs=4k", "count=37", "status=none")
	b, err := os.ReadFile(trace)
	require.NoError(t, err)
	text = string(b)
	if v, _ := readBack(t, text, "proc.write_chars", "", ""); v != 37*4096 {
		t.Errorf("%.0f bytes written, want %d, of\n%s", v, 37*4096, text)
	}
}
