package procfile

import (
	"errors"
	"os"
	"testing"

	"iocause/internal/host"
	"iocause/internal/require"
)

func TestParseMountStats(t *testing.T) {
	b, err := os.ReadFile("testdata/mountstats-v3-v41-v42")
	require.NoError(t, err)
	all, err := ParseMountStats(b)
	if err != nil || len(all) != 3 {
		t.Fatalf("%d mounts: %v", len(all), err)
	}
	v3, v41, v42 := all[0], all[1], all[2]
	if v3.Source != "nas.lan:/vol/home" || v3.Point != "/home" || v3.Type != "nfs" || len(v3.Ops) != 6 {
		t.Errorf("%+v", v3)
	}
	if want := (MountOp{Name: "READ", Requests: 320, Transmissions: 331, Timeouts: 2, Sent: 47664, Received: 42004480, Queue: 30, Response: 6400, Execute: 6440, HasErrors: true}); v3.Ops[3] != want {
		t.Errorf("%+v, want %+v", v3.Ops[3], want)
	}
	if v3.Ops[2].Errors != 12 {
		t.Errorf("errors %+v", v3.Ops[2])
	}
	if v41.Source != "[fd00::9]:/vol/with blank" || v41.Point != "/mnt/with blank" || len(v41.Ops) != 4 || v41.Ops[2].Name != "EXCHANGE_ID" {
		t.Errorf("%+v", v41)
	}
	if len(v42.Ops) != 3 || v42.Ops[1].Execute != 14 || v42.Ops[1].HasErrors {
		t.Errorf("%+v", v42)
	}
}

func TestParseMountStatsThatAreBroken(t *testing.T) {
	head := "device a:/b mounted on /c with fstype nfs statvers=1.1\n\tper-op statistics\n"
	for _, c := range []struct {
		text string
		line int
	}{{head + "\tREAD: 1 2 3 4 5 6 7\n", 3}, {head + "\tREAD: 1 2 x 4 5 6 7 8\n", 3}, {head + "\n\tREAD: 1 2 -3 4 5 6 7 8 9\n", 4}} {
		_, err := ParseMountStats([]byte(c.text))
		var l *host.LineError
		if !errors.As(err, &l) || l.Line != c.line {
			t.Errorf("%q: %v, want an error of line %d", c.text, err, c.line)
		}
	}
	for _, text := range []string{"", "nonsense\n", "device a\n", "device a:/b mounted on /c with fstype nfs4\n\tREAD: x\n"} {
		if all, err := ParseMountStats([]byte(text)); err != nil || len(all) != 0 {
			t.Errorf("%q: %+v, %v", text, all, err)
		}
	}
}

func FuzzParseMountStats(f *testing.F) {
	b, err := os.ReadFile("testdata/mountstats-v3-v41-v42")
	require.NoError(f, err)
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) { _, _ = ParseMountStats(b) })
}
