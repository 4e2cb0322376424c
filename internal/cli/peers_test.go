package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/host"
	"iocause/internal/require"
	"iocause/internal/source"
)

// peer is another tool's path; without it the test has nothing to compare with.
func peer(t *testing.T, name, from string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		bpftest.Need(t, name, fmt.Errorf("%w: apt-get install %s", err, from))
	}
	return path
}

// steady reads a file past the cache at a steady rate until the test ends, and
// returns its device.
func steady(t *testing.T) string {
	t.Helper()
	path := bpftest.File(t, 16384)
	readAt(t, "1501", "--filename="+path, "--size=64M")
	devices, err := host.Live().Devices()
	require.NoError(t, err)
	id := bpftest.ID(t, path)
	name, ok := devices.Disk(host.DevNumber(id.Dev))
	if !ok {
		bpftest.Need(t, "disk", errors.New("/var/tmp is not on a block device"))
	}
	return name
}

// readAt makes so many direct reads a second until the test ends; where, fio is told.
func readAt(t *testing.T, rate string, where ...string) {
	t.Helper()
	args := append(where, "--name=steady", "--rw=randread", "--bs=8k", "--direct=1", "--rate_iops="+rate, "--rate_process=linear",
		"--time_based", "--runtime=60", "--output="+filepath.Join(t.TempDir(), "fio"))
	cmd := exec.Command(peer(t, "fio", "fio"), args...)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		cmd.Process.Signal(os.Interrupt)
		cmd.Wait()
	})
	time.Sleep(time.Second) // it has laid out its job and reads
}

// rowsOf are the rows of a table of the only line of JSON that a command prints.
func rowsOf(t *testing.T, table string, args ...string) []map[string]any {
	t.Helper()
	code, out, errs := runApp(t.Context(), source.List(), append(args, "--format", "json", "--top", "0")...)
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(out), &object); code != 0 || err != nil {
		t.Fatalf("%v: code %d, %v, %s", args, code, err, errs)
	}
	var v struct{ Rows []map[string]any }
	require.NoError(t, json.Unmarshal(object[table], &v))
	return v.Rows
}

// near compares two measurements of the same steady thing.
func near(what string, ours, theirs, tolerance float64) error {
	if d := math.Abs(ours-theirs) / theirs; theirs == 0 || d > tolerance {
		return fmt.Errorf("%s: %g, the peer says %g", what, ours, theirs)
	}
	return nil
}

// agree demands agreement in one of five tries: the two never watch exactly
// the same time, and the machine has other users.
func agree(t *testing.T, try func() error) {
	t.Helper()
	var err error
	for range 5 {
		if err = try(); err == nil {
			return
		}
		t.Log(err)
	}
	t.Error(err)
}

func TestDiskAgreesWithIostat(t *testing.T) {
	if testing.Short() {
		t.Skip("the figures are looked at without -short")
	}
	needProbes(t)
	iostat := peer(t, "iostat", "sysstat")
	device := steady(t)
	agree(t, func() error {
		var out bytes.Buffer
		var wg sync.WaitGroup
		wg.Go(func() {
			time.Sleep(300 * time.Millisecond) // the programs are loaded by then
			cmd := exec.Command(iostat, "-dxy", "-o", "JSON", device, "2", "1")
			cmd.Stdout = &out
			if err := cmd.Run(); err != nil {
				t.Error(err)
			}
		})
		rows := rowsOf(t, "devices", "disk", "2", "1", "--device", device)
		wg.Wait()
		var theirs struct {
			Sysstat struct {
				Hosts []struct {
					Statistics []struct{ Disk []map[string]any }
				}
			}
		}
		if err := json.Unmarshal(out.Bytes(), &theirs); err != nil {
			return fmt.Errorf("reading iostat's JSON: %w", err)
		}
		peer := theirs.Sysstat.Hosts[0].Statistics[0].Disk[0]
		figure := func(row map[string]any, key string) float64 { v, _ := row[key].(float64); return v }
		for _, c := range []error{
			near("reads a second", figure(rows[0], "reads_per_s"), figure(peer, "r/s"), .02),
			near("bytes a second", figure(rows[0], "read_bytes_per_s"), 1024*figure(peer, "rkB/s"), .02),
			// iostat prints hundredths of a millisecond
			near("await", figure(rows[0], "read_await_seconds"), figure(peer, "r_await")/1e3, .02+.005/max(.01, figure(peer, "r_await"))),
		} {
			if c != nil {
				return c
			}
		}
		return nil
	})
}

// counts sums a power-of-two histogram of bcc's: "     16 -> 31    : 25   |**".
var counts = regexp.MustCompile(`(?m)^\s*\d+ -> \d+\s*: (\d+)`)

func TestHistogramsAgreeWithBcc(t *testing.T) {
	if testing.Short() {
		t.Skip("the figures are looked at without -short")
	}
	needProbes(t)
	device := steady(t)
	for _, c := range []struct{ tool, by, table, part string }{
		{"biolatency", "latency", "latency", "device"},
		{"bitesize", "size", "size", "size"},
	} {
		t.Run(c.tool, func(t *testing.T) {
			t.Parallel() // both count the same reads
			tool := peer(t, c.tool, "libbpf-tools")
			agree(t, func() error {
				args := []string{"-d", device, "2", "1"}
				if c.tool == "bitesize" {
					args = []string{"-c", "fio", "-d", device, "2", "1"}
				}
				cmd := exec.Command(tool, args...)
				var out bytes.Buffer
				cmd.Stdout = &out
				var wg sync.WaitGroup
				wg.Go(func() {
					if err := cmd.Run(); err != nil {
						t.Logf("%s: %v", c.tool, err)
					}
				})
				rows := rowsOf(t, c.table, "disk", "2", "1", "--device", device, "--by", c.by)
				wg.Wait()
				theirs := 0.0
				for _, m := range counts.FindAllStringSubmatch(out.String(), -1) {
					n, _ := strconv.ParseFloat(m[1], 64)
					theirs += n
				}
				for _, row := range rows {
					if row["op"] == "read" && row["part"] == c.part {
						return near(c.tool+"'s count", row["count"].(float64), theirs, .01)
					}
				}
				return fmt.Errorf("no reads in %v", rows)
			})
		})
	}
}

// free's figures are ours: memory that is free, available and cached.
func TestUseAgreesWithFree(t *testing.T) {
	free := peer(t, "free", "procps")
	agree(t, func() error {
		rows := rowsOf(t, "resources", "use", "0.1", "1")
		out, err := exec.Command(free, "-b").Output()
		if err != nil {
			return err
		}
		f := strings.Fields(strings.Split(string(out), "\n")[1])
		total, _ := strconv.ParseFloat(f[1], 64)
		available, _ := strconv.ParseFloat(f[6], 64)
		used, _ := rows[1]["utilisation"].(float64)
		return near("memory in use", used, 1-available/total, .02)
	})
}
