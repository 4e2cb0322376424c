package procfile

import (
	"math"
	"testing"
)

// As fs/smb/client/cifs_debug.c prints it, of a kernel with CONFIG_CIFS_STATS2: one
// server with one share, one with two.
const cifsStats = `Resources in use
CIFS Session: 2
Share (unique mount targets): 3
SMB Request/Response Buffer: 2 Pool size: 6
SMB Small Req/Resp Buffer: 2 Pool size: 30
Total Large 10 Small 20 Allocations
Operations (MIDs): 0

0 session 0 share reconnects
Total vfs operations: 77 maximum at one time: 2

Max requests in flight: 3
Total time spent processing by command. Time units are jiffies (250 per second)
  SMB3 CMD	Number	Total Time	Fastest	Slowest
  --------	------	----------	-------	-------
  0		1	2		2	2
  8		40	498		5	30
  1 slow responses from nas for command 8
1) \\nas\share
SMBs: 53
Bytes read: 163840  Bytes written: 0
Open files: 1 total (local), 1 open on server
TreeConnects: 1 total 0 failed
Reads: 40 total 0 failed
Max requests in flight: 2
Total time spent processing by command. Time units are jiffies (250 per second)
  SMB3 CMD	Number	Total Time	Fastest	Slowest
  --------	------	----------	-------	-------
  9		10	25		2	4
2) \\win\a	DISCONNECTED 
SMBs: 7
3) \\win\b
SMBs: 8
`

func TestCIFSStats(t *testing.T) {
	got := ParseCIFSStats([]byte(cifsStats))
	if len(got) != 3 {
		t.Fatalf("%+v", got)
	}
	if x := got[0]; x.Name != "//nas/share" || x.Requests != 53 || !x.Timed || !x.Alone || x.Ended != 41 || math.Abs(x.Time-2) > 1e-9 {
		t.Errorf("%+v", x)
	}
	if x := got[2]; x.Name != "//win/b" || x.Requests != 8 || x.Alone || x.Ended != 10 || math.Abs(x.Time-0.1) > 1e-9 {
		t.Errorf("%+v", x)
	}
	if x := ParseCIFSStats([]byte("Max requests in flight: 3\n1) \\\\nas\\share\nSMBs: 53\n")); len(x) != 1 || x[0].Timed || x[0].Requests != 53 {
		t.Errorf("without times: %+v", x)
	}
}

// What the client of Linux 6.12 printed after writing 16 MiB to a cluster of Ceph 16.2, and
// 500 direct reads of 4 KiB.
const cephLatency = `item          total       avg_lat(us)     min_lat(us)     max_lat(us)     stdev(us)
-----------------------------------------------------------------------------------
read          500         4842            457             93848           8382
write         4           1647847         1423168         1968859         230995
metadata      3           62782           2537            112420          55704
copyfrom      0           0               0               0               0
`

func TestCephLatency(t *testing.T) {
	got := ParseCephLatency([]byte(cephLatency))
	if len(got) != 4 || got[0].Name != "read" || got[0].Requests != 500 || math.Abs(got[0].Time-2.421) > 1e-9 || math.Abs(got[0].Off-0.0005) > 1e-9 ||
		got[2].Name != "metadata" || got[2].Requests != 3 || got[3].Requests != 0 {
		t.Errorf("%+v", got)
	}
}

func FuzzShareStats(f *testing.F) {
	f.Add([]byte(cifsStats))
	f.Add([]byte(cephLatency))
	f.Fuzz(func(_ *testing.T, b []byte) {
		ParseCIFSStats(b)
		ParseCephLatency(b)
	})
}
