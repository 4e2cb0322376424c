package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"iocause/internal/detect"
	"iocause/internal/host"
	"iocause/internal/require"
	"iocause/internal/sample"
	"iocause/internal/store/summaries"
	"iocause/internal/tool/baseline"
)

// atTime runs a command line at an instant.
func atTime(t *testing.T, now time.Time, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err require.Output
	h := host.Live()
	h.Now = func() time.Time { return now }
	a := &env{streams: streams{stdin: strings.NewReader(""), stdout: &out, stderr: &err}, host: h}
	code = runLine(t.Context(), a, args)
	return code, out.String(), err.String()
}

// learned keeps five weeks of disk.busy: 20 % by day, 5 % by night, and today
// 90 % since nine.
func learned(t *testing.T, now time.Time) (dir string) {
	t.Helper()
	dir = t.TempDir()
	var hours []sample.Hour
	today := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
	for at := today.AddDate(0, 0, -35); at.Add(time.Hour).Before(now); at = at.Add(time.Hour) {
		v := 0.05
		if at.Hour() >= 8 && at.Hour() < 20 {
			v = 0.2
		}
		h := sample.Hour{Signal: "disk.busy", Start: at, N: 360, Q: [5]float64{v / 2, v * 0.8, v, v * 1.2, v * 2}, Extreme: v * 3}
		if !at.Before(today.Add(9 * time.Hour)) {
			h.Q, h.Extreme, h.N, h.Alarmed = [5]float64{0.8, 0.85, 0.9, 0.95, 1}, 1, 300, 60
		}
		hours = append(hours, h)
	}
	require.NoError(t, summaries.Append(filepath.Join(dir, "baselines"), hours))
	return dir
}

var wednesday = time.Date(2026, 11, 4, 14, 20, 0, 0, time.FixedZone("CET", 3600))

func TestBaselineIsDrawn(t *testing.T) {
	dir := learned(t, wednesday)
	code, out, stderr := atTime(t, wednesday, "baseline", "disk.busy", "--dir", dir)
	if code != 0 || stderr != "" {
		t.Fatalf("code %d, %s", code, stderr)
	}
	for _, want := range []string{
		"disk.busy, Wed 2026-11-04 +0100: time with I/O in flight, of the busiest disk\n",
		"\n       00       03       06       09       12       15       18       21\n",
		"\n   0 % ⠒⠒⠒⠒",
		"At 13:00", "that hour  80 % 90 % ", "normal     10 % 20 % ", "hour of week, 5 weeks", "30 hours", "a year ago - ",
		"! 50 min of that day", // 5 hours of 60 samples
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing:\n%s", want, out)
		}
	}
	for _, line := range strings.Split(out, "\n") {
		if len([]rune(line)) > 80 {
			t.Errorf("%q is too wide", line)
		}
	}
}

func TestBaselineOfAllSignals(t *testing.T) {
	dir := learned(t, wednesday)
	code, out, stderr := atTime(t, wednesday, "baseline", "--dir", dir)
	if code != 0 || stderr != "" || !strings.Contains(out, "The hour of Wed 2026-11-04 13:00 +0100\n") || strings.Count(out, "\n") != 3 || !strings.Contains(out, "hour of week, 5 weeks") {
		t.Errorf("code %d %s\n%s", code, stderr, out)
	}
	code, out, _ = atTime(t, wednesday, "baseline", "--dir", dir, "--format", "json")
	var d struct{ Hours []baseline.Hour }
	if err := json.Unmarshal([]byte(out), &d); err != nil || code != 0 || len(d.Hours) != 1 {
		t.Fatalf("%v\n%s", err, out)
	}
	h := d.Hours[0]
	// (0.4 - 0.1) / 3.29 is the spread
	if h.Signal != "disk.busy" || h.Samples != 300 || h.Alarmed != 60 || *h.Was.P50 < 0.89 || *h.Normal.P50 < 0.19 || *h.Normal.P50 > 0.21 || *h.Z < 7 || *h.Z > 8 || h.Year.P50 != nil {
		t.Errorf("%s", out)
	}
}

// The day on which summer time ends has 25 hours.
func TestBaselineOfALongDay(t *testing.T) {
	loc, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip("this machine has no time zones")
	}
	now := time.Date(2026, 10, 25, 23, 30, 0, 0, loc)
	dir := learned(t, now)
	for day, hours := range map[string]int{"today": 25, "yesterday": 24, "2026-03-29": 23} {
		_, out, _ := atTime(t, now, "baseline", "disk.busy", "--day", day, "--format", "json", "--dir", dir)
		var d struct{ Hours []baseline.Hour }
		if err := json.Unmarshal([]byte(out), &d); err != nil || len(d.Hours) != hours {
			t.Errorf("%s: %v, %d hours, want %d", day, err, len(d.Hours), hours)
		}
	}
}

func TestBaselineWithoutAny(t *testing.T) {
	dir := t.TempDir()
	code, out, stderr := atTime(t, wednesday, "baseline", "--dir", dir)
	if code != 1 || out != "" || !strings.Contains(stderr, "no such file or directory; the agent keeps them from its first hours on: name its directory with --dir\n") {
		t.Errorf("code %d %s%s", code, out, stderr)
	}
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "baselines"), 0o700))
	if code, out, stderr = atTime(t, wednesday, "baseline", "--dir", dir); code != 0 || !strings.Contains(out, "(none)") {
		t.Errorf("code %d %s%s", code, out, stderr)
	}
	if code, out, stderr = atTime(t, wednesday, "baseline", "cpu.user", "--dir", dir); code != 0 || !strings.Contains(out, "(nothing is known)") || !strings.Contains(out, "! learning") {
		t.Errorf("code %d %s%s", code, out, stderr)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "baselines", "x.hours"), []byte("\x1b[31m"), 0o600))
	if code, _, stderr = atTime(t, wednesday, "baseline", "--dir", dir); code != 0 || !strings.Contains(stderr, "x.hours: not a baseline file") {
		t.Errorf("code %d %s", code, stderr)
	}
	for _, c := range []struct{ args, want string }{
		{"baseline nothing", `there is no signal "nothing"; there are cpu.user, `},
		{"baseline --day maybe", `"maybe" is not a day; give today`},
		{"baseline --format csv", "use text or json"},
	} {
		code, out, stderr := atTime(t, wednesday, strings.Fields(c.args)...)
		if code != 2 || out != "" || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: code %d %s%s", c.args, code, out, stderr)
		}
	}
}

// All signals fit 80 columns, with what is known of them after a year; nothing
// of the shorter columns is cut.
func TestBaselineFitsATerminal(t *testing.T) {
	dir := t.TempDir()
	levels := map[string]float64{"count/s": 123_456, "bytes/s": 1.8e9, "pages/s": 987_654, "seconds": 0.0123456, "ratio": 0.8}
	var hours []sample.Hour
	for _, s := range detect.Signals() {
		v, ok := levels[s.Unit]
		if !ok {
			t.Fatalf("%s has the unit %q", s.Name, s.Unit)
		}
		for day := -380; day <= 0; day++ {
			if day > -350 && day < -60 {
				continue
			}
			for hour := range 24 {
				at := time.Date(wednesday.Year(), wednesday.Month(), wednesday.Day()+day, hour, 0, 0, 0, wednesday.Location())
				if at.Add(time.Hour).After(wednesday) {
					break
				}
				x := v * (1 + float64(day)/1000)
				if day == 0 {
					x = v / 7 // Z is large for what should be high
				}
				hours = append(hours, sample.Hour{Signal: s.Name, Start: at, N: 360, Q: [5]float64{x * 0.9, x * 0.95, x, x * 1.05, x * 1.1}, Extreme: x * 1.2})
			}
		}
	}
	require.NoError(t, summaries.Append(filepath.Join(dir, "baselines"), hours))
	fits := func(args ...string) string {
		t.Helper()
		code, out, stderr := atTime(t, wednesday, append(args, "--dir", dir)...)
		if code != 0 || stderr != "" {
			t.Fatalf("code %d, %s", code, stderr)
		}
		for _, line := range strings.Split(out, "\n") {
			if len([]rune(line)) > 80 {
				t.Errorf("%q is too wide", line)
			}
		}
		return out
	}
	t.Setenv("COLUMNS", "80")
	all := fits("baseline")
	for _, s := range detect.Signals() {
		if !strings.Contains(all, "\n"+s.Name+" ") {
			t.Errorf("%s is missing or cut", s.Name)
		}
		if out := fits("baseline", s.Name); !strings.Contains(out, s.Help) || !strings.Contains(out, "a year ago ") || !strings.Contains(out, "hour of week, 8 weeks") {
			t.Errorf("%s", out)
		}
	}
	if n := strings.Count(all, "hour of week, 8 weeks\n"); n != len(detect.Signals()) || strings.Contains(all, "…") ||
		!strings.Contains(all, " 141 k/s   860 k/s..1.06 M/s ") {
		t.Errorf("what is normal or what that is from is cut:\n%s", all)
	}
}
