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

// disk is a report of iostat of a disk that serves a reader, in so many ms each.
func disk(ms string) string {
	return "$ iostat -xz 1 2\navg-cpu: %user %nice %system %iowait %steal %idle\n 1.00 0.00 2.00 40.00 0.00 57.00\n\n" +
		"Device r/s rkB/s r_await w/s wkB/s w_await aqu-sz %util\nsda 100.00 400.00 " + ms + " 0.00 0.00 0.00 0.10 10.00\n"
}

// cache is a log on a disk whose writes take so many ms each.
func cache(state, ms string) string {
	return "$ hdparm -W /dev/sda\n\n/dev/sda:\n write-caching =  " + state + "\n$ iostat -xz 1 2\navg-cpu: %user %nice %system %iowait %steal %idle\n 1.00 0.00 2.00 40.00 0.00 57.00\n\n" +
		"Device r/s rkB/s r_await w/s wkB/s w_await aqu-sz %util\nsda 0.00 0.00 0.00 100.00 400.00 " + ms + " 0.90 90.00\n"
}

// discards is a disk with two readers and so many discards of so many ms.
func discards(n, ms string) string {
	return "avg-cpu: %user %nice %system %iowait %steal %idle\n 1.00 0.00 2.00 40.00 0.00 57.00\n\n" +
		"Device r/s rkB/s r_await w/s wkB/s w_await d/s dkB/s d_await aqu-sz %util\nsda 40.00 160.00 20.00 0.00 0.00 0.00 " + n + ".00 20480.00 " + ms + ".00 1.80 99.00\n"
}

// checked is a mirror with two readers that is checked at so many KiB a second.
func checked(speed string) string {
	return "$ cat /proc/mdstat\nPersonalities : [raid1]\nmd0 : active raid1 sdb1[1] sda1[0]\n      976630464 blocks super 1.2 [2/2] [UU]\n" +
		"      [====>................]  check = 21.5% (209975552/976630464) finish=99.4min speed=" + speed + "K/sec\n\n$ iostat -xz 1 2\n" +
		"avg-cpu: %user %nice %system %iowait %steal %idle\n 1.00 0.00 2.00 40.00 0.00 57.00\n\nDevice r/s rkB/s r_await w/s wkB/s w_await aqu-sz %util\n" +
		"sda 350.00 132000.00 9.00 0.00 0.00 0.00 3.10 99.00\nsdb 350.00 132000.00 9.00 0.00 0.00 0.00 3.10 99.00\nmd0 40.00 160.00 50.00 0.00 0.00 0.00 2.00 99.00\n"
}

func zpool(work string) string {
	return "  pool: tank\n state: ONLINE\n  scan: " + work + " in progress since Sun Oct 11 00:24:01 2026\n\t1.18T scanned at 644M/s, 826G issued at 444M/s, 6.42T total\n" +
		"\t0B repaired, 12.87% done, 03:24:38 to go\nconfig:\n\n\tNAME        STATE     READ WRITE CKSUM\n\ttank        ONLINE       0     0     0\n\t  sda       ONLINE       0     0     0\n\nerrors: No known data errors\n"
}

// copied is a run of dd, on a machine whose dirty limit it exceeds.
func copied(operands string) string {
	return "# free -m\n total used free shared buff/cache available\nMem: 15900 5000 300 10 10600 9800\n# sysctl vm.dirty_ratio vm.dirty_background_ratio\nvm.dirty_ratio = 20\nvm.dirty_background_ratio = 10\n" +
		"# dd " + operands + " bs=1M count=20480\n20480+0 records in\n20480+0 records out\n21474836480 bytes (21 GB, 20 GiB) copied, 400 s, 53.7 MB/s\n"
}

// What people paste beside the classics, with a look-alike that has no cause.
func TestForms(t *testing.T) {
	fixture := func(name string) string {
		b, err := os.ReadFile("../../parse/" + name)
		require.NoError(t, err)
		return string(b)
	}
	instead := strings.NewReplacer("EBS Volume Performance", "EC2 Instance EBS Performance", "EC2 Instance EBS Performance", "EBS Volume Performance")
	for name, c := range map[string]struct {
		text string
		want diagnose.ID
	}{
		"more written than may be dirty":    {copied("if=/dev/zero of=x"), diagnose.DirtyThrottling},
		"more read than may be dirty":       {copied("if=/dev/sda of=/dev/null"), diagnose.Unknown},
		"as much written past the cache":    {copied("if=/dev/zero of=/dev/sdb oflag=direct"), diagnose.Unknown},
		"syncs of a rotating disk":          {fixture("prometheus/testdata/etcd.txt"), diagnose.SyncWrites},
		"syncs that stall now and then":     {etcd("0.001 90000", "0.002 99000", "0.004 99900", "0.256 99910", "0.512 99960", "1.024 100000", "+Inf 100000"), diagnose.SyncWrites},
		"syncs of flash":                    {etcd("0.001 90000", "0.002 99000", "0.004 99900", "0.008 99990", "0.128 99998", "0.256 100000", "+Inf 100000"), diagnose.Unknown},
		"too few syncs":                     {etcd("0.001 1", "0.512 20", "+Inf 20"), diagnose.Unknown},
		"sectors that cannot be read":       {fixture("smart/testdata/ata.txt"), diagnose.DeviceUnhealthy},
		"a disk that foretells its failure": {"SMART Health Status: FIRMWARE IMPENDING FAILURE TOO MANY BLOCK REASSIGNS [asc=5d, ascq=64]\n", diagnose.DeviceUnhealthy},
		"a file server that is slow":        {fixture("nfsiostat/testdata/interval.txt"), diagnose.RemoteServerSlow},
		"a file server, as it was for long": {fixture("nfsiostat/testdata/columns.txt"), diagnose.Unknown},
		"a file server that is quick":       {nfs("2000.000", "0 (0.0%)", "0.900", "1.000"), diagnose.Unknown},
		"a file server with little to do":   {nfs("0.200", "0 (0.0%)", "60.000", "61.000"), diagnose.Unknown},
		"a file server that is not reached": {nfs("20.000", "3 (15.0%)", "120.000", "190.000"), diagnose.NetworkLimitsIO},
		"a file server with a long queue":   {nfs("100.000", "0 (0.0%)", "12.000", "90.000"), diagnose.NetworkLimitsIO},
		"a pool with a failing disk":        {fixture("zpool/testdata/failing.txt"), diagnose.DeviceErrors},
		"a pool that is scrubbed":           {zpool("scrub"), diagnose.RaidSync},
		"an array that is checked":          {fixture("mdstat/testdata/check.txt"), diagnose.RaidSync},
		"a check that takes the disks":      {checked("130000"), diagnose.RaidSync},
		"a check that takes little":         {checked("500"), diagnose.DeviceQueueing},
		"an array that is well":             {"md2 : active raid1 sda3[2] sdb3[1]\n      2927641919 blocks super 1.2 [2/2] [UU]\n", diagnose.Unknown},
		"a slow disk without write cache":   {cache("0 (off)", "9.00"), diagnose.WriteCacheOff},
		"a slow disk with write cache":      {cache("1 (on)", "9.00"), diagnose.DeviceLatencyBound},
		"a fast disk without write cache":   {cache("0 (off)", "0.10"), diagnose.Unknown},
		"a disk that is too hot":            {"Smart Log for NVME device:nvme0 namespace-id:ffffffff\ncritical_warning : 0x2\ntemperature : 88 C\npercentage_used : 3%\nmedia_errors : 0\n", diagnose.DeviceUnhealthy},
		"a faulty disk that is fast":        {"$ smartctl -A /dev/sda\n197 Current_Pending_Sector  0x0012   100   100   000    Old_age   Always       -       4\n" + disk("1.00"), diagnose.DeviceLatencyBound},
		"discards that take the disk":       {discards("20", "45"), diagnose.DiscardStorm},
		"a few discards":                    {discards("2", "5"), diagnose.DeviceQueueing},
		"compaction in perf top":            {fixture("perfreport/testdata/top-compaction.txt"), diagnose.CompactionStall},
		"ciphers in perf report":            {"# Samples: 9K of event 'cycles'\n# Overhead  Command  Shared Object  Symbol\n  61.00%  kworker/u16:1  [kernel.kallsyms]  [k] aes_xts_encrypt\n", diagnose.EncryptionCPU},
		"reads in perf report":              {"# Samples: 9K of event 'cycles'\n# Overhead  Command  Shared Object  Symbol\n  61.00%  grep  [kernel.kallsyms]  [k] rep_movs_alternative\n", diagnose.Unknown},
		"a volume over its cap":             {fixture("ebsnvme/testdata/twice.txt"), diagnose.CloudVolumeLimit},
		"a machine over its cap":            {instead.Replace(fixture("ebsnvme/testdata/twice.txt")), diagnose.CloudInstanceLimit},
		"tasks that hang in the journal":    {strings.SplitN(fixture("dmesg/testdata/hung.txt"), "[ 8100", 2)[0], diagnose.JournalCommit},
		"a server that does not answer":     {"[ 8100.001] nfs: server filer.example not responding, still trying\n", diagnose.RemoteServerSlow},
		"tasks that hang in fanotify":       {"INFO: task cc1:2401 blocked for more than 120 seconds.\nCall Trace:\n schedule+0x5a/0xd0\n fanotify_handle_event+0xbf5/0x1bd0\n fsnotify+0x3af/0xf70\n", diagnose.AccessScannerSlow},
		"tasks that hang in FUSE":           {"INFO: task ls:2400 blocked for more than 120 seconds.\nCall Trace:\n schedule+0x5a/0xd0\n request_wait_answer+0x133/0x210 [fuse]\n", diagnose.FuseDaemonSlow},
		"NFS as the kernel counts it":       {fixture("mountstats/testdata/twice.txt"), diagnose.RemoteServerSlow},
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
			if !strings.HasPrefix(e.Source, "a.txt:") && !strings.HasPrefix(e.Source, "derived ") {
				t.Errorf("%s: %q is from %q", name, e.Name, e.Source)
			}
		}
	}
}
