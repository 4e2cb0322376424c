package mounts

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/host"
	"iocause/internal/require"
	"iocause/internal/sample"
)

// Of a share of a server that is 10 ms away (test/vm/layers cifs, ceph) the client's own
// account has every read, and the time of each: no less than the way takes, no more than
// the reader waited; that of 9p has none. Who reads it waits for the server, which the
// diagnosis says. IOCAUSE is the program, IOCAUSE_SHARE a file of the share.
func TestShareFarAway(t *testing.T) {
	program, path := os.Getenv("IOCAUSE"), os.Getenv("IOCAUSE_SHARE")
	if program == "" || path == "" {
		t.Skip("IOCAUSE and IOCAUSE_SHARE name no program and no file of a share")
	}
	const n, way = 101, 10 * time.Millisecond // a prime
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECT, 0)
	require.NoError(t, err)
	defer unix.Close(fd)
	buf := bpftest.Aligned(t, 4096)
	var reader time.Duration
	w := bpftest.Observe(t, Open, func() {
		start := time.Now()
		for i := range n {
			if _, err := unix.Pread(fd, buf, int64(i)<<12); err != nil {
				t.Fatal(err)
			}
		}
		reader = time.Since(start)
	})
	m := mountOf(t, path)
	e := sample.Entity{Device: m.Dev.String(), Class: map[string]string{"cifs": "SMB", "ceph": "read"}[m.Type]}
	requests, _ := w.Sum(sample.ServedRequests, e)
	took, _ := w.Sum(sample.ServedTime, e)
	t.Logf("%g requests in %.3f s; the reader waited %.3f ms for each of %d reads", requests, took, 1e3*reader.Seconds()/n, n)
	const tick = 4 * time.Millisecond // the clock of the client of CIFS: CONFIG_HZ is 250
	switch {
	case reader < n*(way-tick):
		t.Errorf("%d reads took %v, want %v at least", n, reader, n*way)
	case m.Type == "9p":
		if requests != 0 {
			t.Errorf("somebody has counted %g requests", requests)
		}
	case requests < n || requests > n+10 || took < (n*(way-tick)).Seconds() || took > reader.Seconds()+(10*tick).Seconds():
		t.Errorf("%g requests in %g s, want %d in %v to %v", requests, took, n, n*way, reader)
	}
	dd := exec.Command("dd", "if="+path, "of=/dev/null", "bs=4k", "iflag=direct")
	require.NoError(t, dd.Start())
	defer func() {
		_ = dd.Process.Kill()
		_ = dd.Wait()
	}()
	for command, want := range map[string]string{"mounts 3 1": m.Type, "diagnose --duration 5s": "PROBLEM: remote-server-slow"} {
		var out require.Output
		ends(t, exec.Command(program, strings.Fields(command)...), &out)
		t.Logf("%s", &out)
		if !strings.Contains(out.String(), want) && !strings.Contains(out.String(), "opening took longer than") {
			t.Errorf("iocause %s does not say %q", command, want)
		}
	}
}

// mountOf is the mount that a file lies in.
func mountOf(t *testing.T, path string) host.Mount {
	t.Helper()
	mounts, err := host.Live().Mounts()
	require.NoError(t, err)
	m, _ := mounts.Find(host.DevNumber(bpftest.ID(t, path).Dev))
	return m
}
