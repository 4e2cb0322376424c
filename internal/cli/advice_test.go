package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"iocause/internal/agent"
	"iocause/internal/bpf/bpftest"
	"iocause/internal/host"
	"iocause/internal/require"
	"iocause/internal/source"
	"iocause/internal/store/incidents"
)

// What came of an advice is measured on the program that it was for: it reads more
// than its cgroup may cache, and does more once the limit is gone.
func TestAdviceIsMeasured(t *testing.T) {
	needProbes(t)
	self, err := program()
	require.NoError(t, err)
	lab, small := smallCgroup(t, 64<<20)
	file := bpftest.File(t, 96<<20/4096)
	if _, err := lab.Start([]string{"/usr/bin/env", asProgram + "=1", self, "lab", "load", "randread", "--path", file, "--bs", "16k", "--duration", "1m"}, small, false); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second / 2) // until the cache is full
	a := &env{host: host.Live(), sources: source.List()}
	j := newIncidentJudge(a)
	seen := j.Judge(t.Context(), agent.Ask{Length: 500 * time.Millisecond, Look: true})
	x := &incidents.Incident{Finding: seen.Report, Sections: seen.Sections}
	path := filepath.Join(t.TempDir(), "before")
	require.NoError(t, incidents.SaveFile(path, x))
	require.NoError(t, small.Lift("memory", ""))
	time.Sleep(time.Second / 2)
	f := j.Judge(t.Context(), agent.Ask{Length: 500 * time.Millisecond, Again: path})
	if f.Again == nil || f.Again.Factor == nil || *f.Again.Factor < 1.1 {
		t.Fatalf("%s was found; then %+v, %q", seen.Cause, f.Again, f.Notes)
	}
	require.NoError(t, os.Remove(path))
	if f := j.Judge(t.Context(), agent.Ask{Length: 200 * time.Millisecond, Again: path}); f.Again != nil || len(f.Notes) != 1 {
		t.Errorf("without the incident: %+v", f)
	}
}

// The ledger of a folder is listed, newest first, and only what is asked for.
func TestAdvice(t *testing.T) {
	dir := filepath.Join("testdata", "golden", "ledger")
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--dir", dir}, exitWell, "PREDICTED"},
		{[]string{"--dir", dir, "--since", "1s"}, exitWell, "(none)"},
		{[]string{"--dir", t.TempDir()}, exitUsage, "no advice was kept"},
		{[]string{"--dir", dir, "--format", "csv"}, exitUsage, "text or json"},
	} {
		code, out, stderr := runApp(t.Context(), source.List(), append([]string{"advice"}, c.args...)...)
		if code != c.code || !strings.Contains(out+stderr, c.want) {
			t.Errorf("%q: code %d, %q%q, want %q", c.args, code, out, stderr, c.want)
		}
	}
}
