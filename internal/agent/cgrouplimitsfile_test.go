package agent

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"iocause/internal/host"
	"iocause/internal/require"
	"iocause/internal/sample"
)

// restarted is the host after the agent was ended and started anew, with what it
// kept or without.
func (c *capped) restarted(t *testing.T, dir string, away time.Duration) *capped {
	t.Helper()
	if err := c.cgroupLimits.keep(dir, c.now); err != nil {
		t.Fatal(err)
	}
	next := &capped{newCgroupLimits(), c.now.Add(away)}
	if err := next.cgroupLimits.restore(dir, next.now); err != nil {
		t.Fatal(err)
	}
	return next
}

// Which limits are reached every day, and which cgroups were there before, is
// known after a restart; what goes on over it is the same; and what is long ago
// is forgotten.
func TestLimitsAreKnownAfterARestart(t *testing.T) {
	const day = 24 * time.Hour
	dir := t.TempDir()
	c := &capped{newCgroupLimits(), time.Unix(1e9, 0)}
	step := func(what string, d time.Duration, throttled bool, wantAfter, wantTold time.Duration) {
		t.Helper()
		if after, told := c.spend(d, throttled); after != wantAfter || told != wantTold {
			t.Errorf("%s: told after %v, for %v; want %v, %v", what, after, told, wantAfter, wantTold)
		}
	}
	step("before", 2*time.Hour, false, -1, 0)
	c = c.restarted(t, dir, time.Minute)
	step("news of a cgroup that was seen before", 20*time.Minute, true, limitHolds, 16*time.Minute+limitEvery)
	c = c.restarted(t, dir, time.Minute)
	step("it goes on", 10*time.Minute, true, limitHolds, 6*time.Minute+limitEvery)
	step("and ceases", day, false, -1, 0)
	c = c.restarted(t, dir, time.Hour)
	step("the same the next day", time.Hour, true, -1, 0)
	c = c.restarted(t, dir, time.Minute)
	step("which goes on", time.Hour, true, -1, 0)
	step("and ceases, too", day, false, -1, 0)
	c = c.restarted(t, dir, 9*day)
	step("the agent was away for long", 2*time.Hour, false, -1, 0)
	step("and it is news again", 20*time.Minute, true, limitHolds, 16*time.Minute+limitEvery)
	c = &capped{newCgroupLimits(), c.now}
	step("without what was kept the cgroup is new", 20*time.Minute, true, -1, 0)
}

// Names that are no UTF-8 are told apart, and nobody else may read the file.
func TestKeptLimitsAreExact(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made when it is missing")
	c := newCgroupLimits()
	now := time.Unix(1_700_000_000, 0)
	names := []string{"/a\xff", "/a\xfe", "/\n\x1b[31m", "/ü"}
	for i, name := range names {
		c.first[name], c.newest[name] = now.Add(time.Duration(i)*time.Second), now.Add(time.Hour)
		c.known[limitKey{sample.LimitCap, name, "memory"}] = &limitState{tell: i%2 == 0, began: now, ended: now.Add(time.Minute)}
		c.known[limitKey{sample.LimitThrottled, name, "vda reads"}] = &limitState{on: true, tell: i%2 == 0, began: now}
		c.known[limitKey{sample.LimitOOM, name, "memory"}] = &limitState{spells: []limitSpell{{now, limitEvery}}} // not long enough
	}
	if err := c.keep(dir, now.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, limitsFile))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if all, err := os.ReadDir(dir); err != nil || len(all) != 1 {
		t.Errorf("beside it are %v, %v", all, err)
	}
	d := newCgroupLimits()
	if err := d.restore(dir, now); err != nil {
		t.Fatal(err)
	}
	if len(d.first) != len(names) || len(d.known) != 2*len(names) {
		t.Errorf("%d cgroups and %d limits are known again", len(d.first), len(d.known))
	}
	for i, name := range names {
		if !d.first[name].Equal(c.first[name]) || !d.newest[name].Equal(c.newest[name]) {
			t.Errorf("%q was seen from %v to %v", name, d.first[name], d.newest[name])
		}
		was, held := d.known[limitKey{sample.LimitCap, name, "memory"}], d.known[limitKey{sample.LimitThrottled, name, "vda reads"}]
		if was == nil || held == nil || was.tell != (i%2 == 0) || held.tell != was.tell || was.on || held.on ||
			!was.began.Equal(now) || !was.ended.Equal(now.Add(time.Minute)) || !held.ended.Equal(now.Add(time.Hour)) {
			t.Errorf("%q: %+v, %+v", name, was, held)
		}
	}
}

// A file that is damaged anywhere is refused, and nothing of it is believed; the
// next one takes its place.
func TestDamagedLimits(t *testing.T) {
	dir := t.TempDir()
	c := &capped{newCgroupLimits(), time.Unix(1e9, 0)}
	c.spend(2*time.Hour, false)
	c.spend(time.Hour, true)
	if err := c.cgroupLimits.keep(dir, c.now); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, limitsFile)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	refused := func(what string, b []byte) {
		t.Helper()
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		x := newCgroupLimits()
		if err := x.restore(dir, c.now); !errors.Is(err, errLimits) || len(x.first)+len(x.known) != 0 {
			t.Errorf("%s: %v, %d cgroups, %d limits", what, err, len(x.first), len(x.known))
		}
	}
	for n := range good {
		refused("cut", good[:n])
		b := append([]byte(nil), good...)
		b[n] ^= 0x10
		refused("a bit is another", b)
	}
	refused("twice", append(append([]byte(nil), good...), good...))
	if err := c.cgroupLimits.keep(dir, c.now); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != string(good) {
		t.Errorf("kept anew there is %q, %v", b, err)
	}
}

// It is written rarely: soon after a limit began to hold or ceased to, else once
// an hour.
func TestLimitsAreKeptRarely(t *testing.T) {
	c := &capped{newCgroupLimits(), time.Unix(1e9, 0)}
	if err := c.cgroupLimits.restore(t.TempDir(), c.now); err != nil {
		t.Fatal(err)
	}
	due := func(d time.Duration, throttled bool) (n int) {
		for spent := time.Duration(0); spent < d; spent += limitEvery {
			c.spend(limitEvery, throttled)
			if c.cgroupLimits.due(c.now) {
				n++
			}
		}
		return n
	}
	if n := due(24*time.Hour, false); n != 24 {
		t.Errorf("it is due %d times in a quiet day", n)
	}
	if n := due(20*time.Minute, true); n != 1 {
		t.Errorf("it is due %d times when a limit holds", n)
	}
	if n := due(time.Hour, true); n != 1 {
		t.Errorf("it is due %d times while it goes on holding", n)
	}
}

// The agent keeps what it knows when it ends, and says when it cannot read it.
func TestAgentKeepsLimits(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, limitsFile)
	if err := os.WriteFile(path, []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, said := range []bool{true, false} {
		c := quickConfig(dir)
		c.Tables.Interval, c.PageCache.Interval = 0, 0
		a := start(t, c)
		until(t, "values", func() bool { return len(a.ask(t, "iocause_cpus")) == 1 })
		if err := a.stop(); err != nil {
			t.Error(err)
		}
		if got := a.log.String(); strings.Contains(got, "are learned again") != said {
			t.Errorf("damage is said: %v, want %v: %s", !said, said, got)
		}
		if k, err := readLimits(path); err != nil || k == nil {
			t.Errorf("%v, %v", k, err)
		}
	}
	// Nothing can be written: that is said, and no more comes of it.
	var log require.Output
	w := newWatcher(host.Live(), &Config{Dir: filepath.Join(path, "below a file")}, slog.New(slog.NewTextHandler(&log, nil)), nil, "test")
	w.cgroupLimits = newCgroupLimits()
	w.saveLimits(time.Now())
	w.keeper.work(false)
	if !strings.Contains(log.String(), "it will be retried") {
		t.Errorf("said %q", log.String())
	}
}
