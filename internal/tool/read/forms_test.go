package read

import (
	"context"
	"os"
	"strings"
	"testing"

	"iocause/internal/diagnose"
	"iocause/internal/host"
	"iocause/internal/parse"
	"iocause/internal/require"
)

// answer is what is made of a text with one case.
func answer(t *testing.T, text string) *diagnose.Report {
	t.Helper()
	r := parse.Reader{Tools: parse.List()}
	got, err := r.Read(context.Background(), "a.txt", strings.NewReader(text))
	require.NoError(t, err)
	cases, _ := parse.Cases([]*parse.Text{got}, false)
	if len(cases) != 1 {
		t.Fatalf("%d cases in %q", len(cases), text)
	}
	return Judge(host.Live(), cases)[0].Report
}

// etcd is a histogram of syncs: so many take at most so many seconds.
func etcd(buckets ...string) string {
	var b strings.Builder
	for _, x := range buckets {
		le, n, _ := strings.Cut(x, " ")
		b.WriteString(`etcd_disk_wal_fsync_duration_seconds_bucket{le="` + le + `"} ` + n + "\n")
	}
	return b.String()
}

// nfs is a report of nfsiostat of reads alone.
func nfs(ops, retrans, rtt, exe string) string {
	return "filer:/x mounted on /x:\n\n ops/s rpc bklog\n " + ops + " 0.000\n\nread: ops/s kB/s kB/op retrans avg RTT (ms) avg exe (ms)\n" +
		ops + " 64.000 64.000 " + retrans + " " + rtt + " " + exe + "\n"
}

// What people paste beside the classics, with a look-alike that has no cause.
func TestForms(t *testing.T) {
	fixture := func(name string) string {
		b, err := os.ReadFile("../../parse/" + name)
		require.NoError(t, err)
		return string(b)
	}
	for name, c := range map[string]struct {
		text string
		want diagnose.ID
	}{
		"syncs of a rotating disk":          {fixture("prometheus/testdata/etcd.txt"), diagnose.SyncWrites},
		"syncs that stall now and then":     {etcd("0.001 90000", "0.002 99000", "0.004 99900", "0.256 99910", "0.512 99960", "1.024 100000", "+Inf 100000"), diagnose.SyncWrites},
		"syncs of flash":                    {etcd("0.001 90000", "0.002 99000", "0.004 99900", "0.008 99990", "0.128 99998", "0.256 100000", "+Inf 100000"), diagnose.Unknown},
		"too few syncs":                     {etcd("0.001 1", "0.512 20", "+Inf 20"), diagnose.Unknown},
		"sectors that cannot be read":       {fixture("smart/testdata/ata.txt"), diagnose.DeviceErrors},
		"a disk that foretells its failure": {"SMART Health Status: FIRMWARE IMPENDING FAILURE TOO MANY BLOCK REASSIGNS [asc=5d, ascq=64]\n", diagnose.DeviceErrors},
		"a file server that is slow":        {fixture("nfsiostat/testdata/interval.txt"), diagnose.RemoteServerSlow},
		"a file server, as it was for long": {fixture("nfsiostat/testdata/columns.txt"), diagnose.Unknown},
		"a file server that is quick":       {nfs("2000.000", "0 (0.0%)", "0.900", "1.000"), diagnose.Unknown},
		"a file server with little to do":   {nfs("0.200", "0 (0.0%)", "60.000", "61.000"), diagnose.Unknown},
		"a file server that is not reached": {nfs("20.000", "3 (15.0%)", "120.000", "190.000"), diagnose.NetworkLimitsIO},
		"a file server with a long queue":   {nfs("100.000", "0 (0.0%)", "12.000", "90.000"), diagnose.NetworkLimitsIO},
		"a pool with a failing disk":        {fixture("zpool/testdata/failing.txt"), diagnose.DeviceErrors},
		"a pool that is whole":              {fixture("zpool/testdata/well.txt"), diagnose.Unknown},
		"a disk that is well":               {"SMART overall-health self-assessment test result: PASSED\n197 Current_Pending_Sector  0x0012   100   100   000    Old_age   Always       -       0\n", diagnose.Unknown},
		"a disk that has moved sectors":     {"  5 Reallocated_Sector_Ct   0x0033   100   100   010    Pre-fail  Always       -       8\n197 Current_Pending_Sector  0x0012   100   100   000    Old_age   Always       -       0\n", diagnose.Unknown},
		"a disk that is worn by its count":  {"SMART/Health Information (NVMe Log 0x02)\nCritical Warning:  0x04\nAvailable Spare:  99%\nPercentage Used:  112%\nMedia and Data Integrity Errors:  0\n", diagnose.Unknown},
	} {
		r := answer(t, c.text)
		if r.Primary != c.want {
			t.Errorf("%s: %s, want %s", name, r.Primary, c.want)
		}
		if c.want == diagnose.Unknown || len(r.Findings) == 0 {
			continue
		}
		for _, e := range r.Findings[0].Evidence {
			if !strings.HasPrefix(e.Source, "a.txt:") {
				t.Errorf("%s: %q is from %q", name, e.Name, e.Source)
			}
		}
	}
}
