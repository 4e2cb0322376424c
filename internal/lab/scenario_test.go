package lab

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"iocause/internal/host"
	"iocause/internal/require"
)

const sound = `title: t
about: a
requires: [root]
files: {data: 1G}
setup:
  - cgroup: {name: small, memory: 256M}
  - sysctl: {name: vm.swappiness, value: "1"}
loads:
  - name: reader
    cgroup: small
    do: {kind: randread, path: "{data}", bs: 8k, rate: 100, drop: true}
  - {name: other, command: [sleep, "1"]}
observe: {duration: 3s, args: [--pid, "{pid:reader}"]}
proof: {disk.reads: "> 10"}
expect: {primary: [healthy], culprit: {comm: "^x$"}, not: [cpu-bound]}
`

func readText(t *testing.T, text string) (*Scenario, error) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "a-name")
	require.NoError(t, os.Mkdir(dir, 0o700))
	path := filepath.Join(dir, "scenario.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return Read(path)
}

func TestReadScenario(t *testing.T) {
	s, err := readText(t, sound)
	require.NoError(t, err)
	if s.Name != "a-name" || s.Files["data"] != 1<<30 || s.Setup[0].Cgroup.Memory != 256<<20 || s.Observe.Duration != 3*time.Second ||
		s.Observe.After != time.Second || s.Loads[0].Do.BlockSize != 8192 || !s.Loads[0].Do.Drop || !s.Proof["disk.reads"].holds(11) {
		t.Errorf("%+v", s)
	}
}

func TestMistakesInScenariosAreLocated(t *testing.T) {
	for _, tt := range []struct{ old, new, want string }{
		{"about: a", "abuot: a", "scenario.yaml:2: there is no field abuot"},
		{"memory: 256M", "memroy: 256M", "scenario.yaml:6: there is no field memroy"},
		{"memory: 256M", "memory: 256X", "is not a size"},
		{"bs: 8k", "bz: 8k", `scenario.yaml:11: a load has no field "bz"`},
		{"bs: 8k", "bs: lots", "scenario.yaml:11: bs: "},
		{"kind: randread", "kind: randreed", `scenario.yaml:11: no kind of load is called "randreed"`},
		{"cgroup: small", "cgroup: big", `there is no cgroup "big"`},
		{`"> 10"`, `"about 10"`, "is not a condition"},
		{"[root]", "[rooot]", `unknown requirement "rooot"`},
		{`"^x$"`, `"("`, "pattern for the culprit's comm"},
		{"culprit: {comm", "culprit: {cmm", `a culprit has no field "cmm"`},
		{"primary: [healthy], ", "", "expect.primary"},
		{"command: [sleep, \"1\"]", "cgroup: small", "load other needs either do or command"},
		{"duration: 3s", "duration: soon", "scenario.yaml:13: "},
		{"- sysctl: {name: vm.swappiness, value: \"1\"}", "- {swap: 1G, read_ahead: 1M}", "setup step 2: the step does 2 things"},
		{"- sysctl: {name: vm.swappiness, value: \"1\"}", "- served: {name: remote}", "served: it needs a name, a size"},
		{"requires: [root]", "requires: [root]\nvm: {kernel: ../x}", `"../x" is not a suite of Debian`},
		{"- sysctl: {name: vm.swappiness, value: \"1\"}", "- cap: {iops: 100}", "only the disk of a virtual machine can be capped"},
		{"observe: {", "before: {change: [{cgroup: {name: late}}]}\nobserve: {", "before.change: create cgroups before the loads start"},
		{"observe: {", "before: {change: [{}]}\nobserve: {", "setup step 3: the step does 0 things"},
		{"observe: {", "before: {loads: [{name: late, cgroup: none, command: [true]}]}\nobserve: {", `there is no cgroup "none"`},
		{"observe: {", "remedy: {do: x, of: reader}\nobserve: {", "needs words (do) and something to do"},
		{"observe: {", "remedy: {do: x, of: nobody, stop: other}\nobserve: {", `remedy: no load is called "nobody"`},
	} {
		if _, err := readText(t, strings.Replace(sound, tt.old, tt.new, 1)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", tt.new, err, tt.want)
		}
	}
}

func TestExpectations(t *testing.T) {
	v := &Verdict{Primary: "cold-cache"}
	v.Findings = append(v.Findings, struct {
		Cause   string         `json:"cause"`
		Answer  string         `json:"answer"`
		Culprit map[string]any `json:"culprit"`
	}{"cold-cache", "yes", map[string]any{"comm": "scan", "pid": 7.0}})
	same := func(s string) string { return strings.ReplaceAll(s, "{who}", "scan") }
	for _, tt := range []struct {
		expect Expect
		wrong  int
	}{
		{Expect{Primary: []string{"x", "cold-cache"}, Culprit: map[string]string{"comm": "^{who}$"}}, 0},
		{Expect{Primary: []string{"x"}}, 1},
		{Expect{Primary: []string{"cold-cache"}, Not: []string{"cold-cache"}, Contributing: []string{"y"}}, 2},
		{Expect{Primary: []string{"cold-cache"}, Culprit: map[string]string{"comm": "^other$", "file": "."}}, 2},
	} {
		if wrong, culprit := tt.expect.check(v, same); len(wrong)+len(culprit) != tt.wrong {
			t.Errorf("%+v: %q", tt.expect, wrong)
		}
	}
	if _, culprit := (&Expect{Primary: []string{"a"}, Culprit: map[string]string{"comm": "x"}}).check(&Verdict{Primary: "a"}, same); len(culprit) != 1 {
		t.Errorf("a culprit was expected and there is no finding: %q", culprit)
	}
}

func TestFacts(t *testing.T) {
	before := map[string]float64{"disk.reads": 100, "disk.read_time": 50, "load.x.read_bytes": 0, "load.x.read_chars": 0}
	after := map[string]float64{"disk.reads": 300, "disk.read_time": 450, "load.x.read_bytes": 4000, "load.x.read_chars": 1000, "=mem.available": 7, "new": 1}
	f := between(before, after, 2*time.Second)
	for name, want := range map[string]float64{"disk.reads": 100, "disk.read_ms": 2, "load.x.amplification": 4, "mem.available": 7} {
		if f[name] != want {
			t.Errorf("%s: %v, want %v", name, f[name], want)
		}
	}
	if _, ok := f["new"]; ok {
		t.Error("a counter without a first reading became a fact")
	}
}

// What others do on block devices is the same figure while what a load dirties piles up
// and while it is written: a process is charged when it dirties a page, and the device
// when that is sent.
func TestForeignBytes(t *testing.T) {
	page := float64(os.Getpagesize())
	const others, loads = 3 << 20, 40 << 20 // bytes a second
	for name, c := range map[string]struct{ dirtied, written, direct float64 }{
		"it piles up":         {loads, 0, 0},
		"all of it is sent":   {loads, loads, 0},
		"what piled up":       {0, loads, 0},
		"it writes past that": {0, 0, loads},
	} {
		before := map[string]float64{"vmstat.pgpgin": 0, "vmstat.pgpgout": 0, "vmstat.nr_dirtied": 0, "vmstat.nr_written": 0, "load.x.read_bytes": 0, "load.x.write_bytes": 0}
		after := map[string]float64{
			"vmstat.pgpgin": 2 * (others + loads) / 1024, "vmstat.pgpgout": 2 * (c.written + c.direct) / 1024,
			"vmstat.nr_dirtied": 2 * c.dirtied / page, "vmstat.nr_written": 2 * c.written / page,
			"load.x.read_bytes": 2 * loads, "load.x.write_bytes": 2 * (c.dirtied + c.direct),
		}
		if got := between(before, after, 2*time.Second)["host.foreign_bytes"]; got != others {
			t.Errorf("%s: %g bytes a second of others, want %d", name, got, others)
		}
		delete(after, "vmstat.nr_written")
		if got, ok := between(before, after, 2*time.Second)["host.foreign_bytes"]; ok {
			t.Errorf("%s: %g bytes a second of others, though the kernel does not tell what was written", name, got)
		}
	}
}

// tree makes files below a root.
func tree(t *testing.T, files map[string]string) *host.Host {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	}
	return host.Tree(root, time.Now)
}

func TestPlaceForCgroups(t *testing.T) {
	const v1 = "30 20 0:26 / /sys/fs/cgroup/memory rw shared:1 - cgroup cgroup rw,memory\n"
	const v2 = "31 20 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n"
	const control, controllers = "/cgroup.subtree_control", "/cgroup.controllers"
	for name, tt := range map[string]struct {
		files map[string]string
		want  string
		v2    bool
	}{
		"v1, below our own": {map[string]string{
			"proc/self/mountinfo": v1 + v2, "proc/self/cgroup": "4:memory:/a/b\n0::/\n",
		}, "/sys/fs/cgroup/memory/a/b", false},
		"v2, above our own, as systemd has it": {map[string]string{
			"proc/self/mountinfo": v2, "proc/self/cgroup": "0::/user/session\n",
			"sys/fs/cgroup/user/session" + control: "", "sys/fs/cgroup/user" + control: "cpu memory\n",
		}, "/sys/fs/cgroup/user", true},
		"v2, where it can be turned on": {map[string]string{
			"proc/self/mountinfo": v2, "proc/self/cgroup": "0::/\n",
			"sys/fs/cgroup" + control: "", "sys/fs/cgroup" + controllers: "io memory\n",
		}, "/sys/fs/cgroup", true},
	} {
		h := tree(t, tt.files)
		at, err := findPlace(h, "memory", "memory")
		if err != nil || at.dir != filepath.Join(h.Root, tt.want) || at.v2 != tt.v2 {
			t.Errorf("%s: %+v, %v", name, at, err)
		}
	}
	if _, err := findPlace(tree(t, map[string]string{"proc/self/mountinfo": v2, "proc/self/cgroup": "0::/x\n"}), "memory", "memory"); err == nil {
		t.Error("no controller, no error")
	}
}

func TestLimitsOnV2(t *testing.T) {
	dir := t.TempDir()
	for _, file := range [...]string{"memory.max", "io.max"} { // as every cgroup has them
		require.NoError(t, os.WriteFile(filepath.Join(dir, file), nil, 0o600))
	}
	l := &Limits{Memory: 1 << 20, Device: "8:0", ReadBPS: 1000, WriteIOPS: 7}
	require.NoError(t, limitMemory(dir, true, l))
	require.NoError(t, limitIO(dir, true, l))
	if got := read(t, filepath.Join(dir, "memory.max")) + "|" + read(t, filepath.Join(dir, "io.max")); got != "1048576|8:0 rbps=1000 wiops=7" {
		t.Error(got)
	}
}

func TestDemands(t *testing.T) {
	t.Setenv("IOCAUSE_REQUIRE", "bpf,cgroup")
	for r, want := range map[string]bool{"bpf": true, "memcg": true, "blkio": true, "fio": false} {
		if Demanded(r) != want {
			t.Errorf("%s demanded: %v", r, !want)
		}
	}
	for _, r := range Requirements() {
		if strings.HasPrefix(Lacks(host.Live(), r), "nobody knows") {
			t.Errorf("%s is listed but not checked", r)
		}
	}
	if Lacks(host.Live(), "nonsense") == "" || slices.Contains(Requirements(), "nonsense") {
		t.Error("nonsense is there")
	}
}

func TestHeldMemoryComesBack(t *testing.T) {
	need(t, "root", "hostmem")
	e := testEnv(t, t.TempDir())
	pool := e.host.Proc("sys/vm/nr_hugepages")
	before := read(t, pool)
	available, err := memInfo(e.host, "MemAvailable")
	require.NoError(t, err)
	const some = 256 << 20
	require.NoError(t, e.HoldMemory(available-some))
	if now, err := memInfo(e.host, "MemAvailable"); err != nil || available-now < some/2 {
		t.Errorf("of %d bytes %d are left (%v)", available, now, err)
	}
	require.NoError(t, e.Close())
	if after := read(t, pool); after != before {
		t.Errorf("the pool has %s huge pages, had %s", after, before)
	}
}
