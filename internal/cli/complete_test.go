package cli

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

// offered are the values that a shell is told, without what they are.
func offered(t *testing.T, e *env, args ...string) []string {
	t.Helper()
	var out, notes require.Output
	e.streams = streams{stdin: strings.NewReader(""), stdout: &out, stderr: &notes}
	if code := runLine(t.Context(), e, append([]string{"__complete"}, args...)); code != exitWell {
		t.Fatalf("%q: code %d: %s", args, code, notes.String())
	}
	var all []string
	for line := range strings.Lines(out.String()) {
		if value, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t"); !strings.HasPrefix(value, ":") {
			all = append(all, value)
		}
	}
	return all
}

// What the shell offers for each kind of value. Of this machine's: the processes, of
// which this one is not offered, for nobody asks iocause about iocause.
func TestCompletionOffersValues(t *testing.T) {
	e := &env{host: host.Live()}
	const agent = "testdata/golden/agent"
	for _, c := range []struct {
		want string // one of those that are offered
		not  string // none of them
		args []string
	}{
		{"json", "", []string{"disk", "--format", ""}},
		{"heat", "file", []string{"disk", "--by", "h"}},
		{"lock", "", []string{"offcpu", "--state", ""}},
		{"disk,mutex", "disk,disk", []string{"offcpu", "--state", "disk,mu"}},
		{"cgroup-cache-limit", "cold-cache", []string{"diagnose", "--fail-on", "cg"}},
		{"problem,cold-cache", "", []string{"diagnose", "--fail-on", "problem,cold"}},
		{"cold-cache", "", []string{"fleet", "common", "--cause", "co"}},
		{"1", "", []string{"incident", "--dir", agent, ""}},
		{"1", "", []string{"threads", "--dir", agent, "--recording", ""}},
		{"1", "", []string{"diff", "--dir", agent, "x.iocause", ""}},
		{"iocause_mem_free_bytes", "iocause_cpus", []string{"query", "--dir", agent, "iocause_m"}},
		{"rate(iocause_disk_read_bytes_total", "", []string{"query", "--dir", agent, "rate(iocause_disk_r"}},
		{"disk.busy", "memory.available", []string{"baseline", "d"}},
		{"sync-writes", "cold-cache-scan", []string{"lab", "score", "--filter", "sync"}},
		{"squeeze", "", []string{"lab", "run", ""}},
		{"randread", "", []string{"lab", "load", ""}},
		{"iostat", "vmstat", []string{"read", "--as", "io"}},
		{"zsh", "", []string{"completion", ""}},
		{"", "1", []string{"incident", "--dir", agent, "1", ""}},         // there is one argument
		{"", "1", []string{"incident", "--dir", agent + "/nowhere", ""}}, // nothing was kept
	} {
		got := offered(t, e, c.args...)
		if c.want != "" && !slices.Contains(got, c.want) || c.not != "" && slices.Contains(got, c.not) {
			t.Errorf("%q offers %q, want %q and not %q", c.args, got, c.want, c.not)
		}
	}
}

// Values of the machine are read when they are asked for; names that a shell or a
// terminal would obey are not offered.
func TestCompletionOfTheMachine(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"proc/101/comm": "postgres\n", "proc/102/comm": "postgres\n", "proc/103/comm": "$(reboot)\n", "proc/104/comm": "a\x1b[31mb\n",
		"sys/block/nvme0n1/dev": "259:0\n", "sys/block/nvme0n1/size": "2048\n", "sys/block/loop3/dev": "7:3\n", "sys/block/loop3/size": "0\n",
		"proc/self/mountinfo":                     "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
		"sys/fs/cgroup/db/pg.service/cgroup.type": "domain\n", "sys/fs/cgroup/web/x": "", "sys/fs/cgroup/evil;ls/x": "",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o644))
	}
	e := &env{host: host.Tree(root, time.Now)}
	for line, want := range map[string][]string{
		"threads --comm ":                      {"postgres"},
		"threads --pid ":                       {"101", "102", "103", "104"},
		"disk --device ":                       {"nvme0n1"},
		"threads --cgroup /":                   {"/db", "/web"},
		"threads --cgroup /db/":                {"/db/pg.service"},
		"threads --unit ":                      {"pg.service"},
		"threads --recording x.iocause --pid ": nil,
	} {
		if got := offered(t, e, strings.Split(line, " ")...); !slices.Equal(got, want) {
			t.Errorf("%q offers %q, want %q", line, got, want)
		}
	}
}

// Of a recording and of an incident the shell offers what is in it, not what there
// is on this machine.
func TestCompletionOfARecording(t *testing.T) {
	const golden = "testdata/golden/"
	e := &env{host: host.Tree(t.TempDir(), time.Now)}
	for line, want := range map[string][]string{
		"threads --recording " + golden + "host.iocause --pid 2446":      {"24465"},
		"threads --recording " + golden + "host.iocause --comm f":        {"fio", "flock"},
		"disk --recording " + golden + "host.iocause --device v":         {"vda"},
		"cache --dir " + golden + "agent --recording 1 --comm ji":        nil,
		"cache --dir " + golden + "agent --recording 1 --comm jo":        {"jobs.sh"},
		"diagnose --recording " + golden + "host.iocause --cgroup /":     {"/app.service", "/db"},
		"diagnose --recording " + golden + "host.iocause --unit a":       {"app.service"},
		"threads --recording " + golden + "nothing.iocause --pid ":       nil,
		"diagnose --recording " + golden + "host.iocause --unit nothing": nil,
	} {
		if got := offered(t, e, strings.Split(line, " ")...); !slices.Equal(got, want) {
			t.Errorf("%q offers %q, want %q", line, got, want)
		}
	}
}

// Each shell gets a script, and nothing else is one.
func TestCompletionScripts(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish"} {
		if code, out, stderr := runApp(t.Context(), nil, "completion", shell); code != exitWell || !strings.Contains(out, "__complete") || stderr != "" {
			t.Errorf("%s: code %d, %d bytes, %s", shell, code, len(out), stderr)
		}
	}
	if code, _, stderr := runApp(t.Context(), nil, "completion", "csh"); code != exitUsage || !strings.Contains(stderr, "csh") {
		t.Errorf("csh: code %d: %s", code, stderr)
	}
}
