package mounts

import (
	"os"
	"testing"
	"time"

	"iocause/internal/require"
	"iocause/internal/sample"
	"iocause/internal/source/proc/proctest"
)

const mountinfo = "21 1 254:1 / / rw,relatime - ext4 /dev/vda1 rw\n" +
	"40 21 0:45 / /home rw,relatime - nfs nas.lan:/vol/home rw,vers=3\n" +
	"41 21 0:45 /a /srv/a rw,relatime - nfs nas.lan:/vol/home rw,vers=3\n" +
	"42 21 0:46 / /mnt/with\\040blank rw - nfs4 [fd00::9]:/vol/with\\040blank rw,vers=4.1\n" +
	"43 21 0:51 / /mnt/cloud rw,nosuid - fuse.sshfs me@there: rw,user_id=0\n" +
	"44 21 0:52 / /sys/fs/fuse/connections rw - fusectl none rw\n" +
	"45 21 0:53 / /share rw - cifs //win/share rw\n" +
	"46 21 0:55 / /host rw - virtiofs share rw\n"

func stats(requests, sent, queue, response, execute string) string {
	return "device nas.lan:/vol/home mounted on /home with fstype nfs statvers=1.1\n\tper-op statistics\n" +
		"\tNULL: 1 1 0 44 24 0 0 0 0\n\tREAD: " + requests + " " + sent + " 0 100 5000 " + queue + " " + response + " " + execute + " 0\n" +
		"device nas.lan:/vol/home mounted on /srv/a with fstype nfs statvers=1.1\n\tper-op statistics\n\tREAD: " + requests + " " + sent + " 0 100 5000 " + queue + " " + response + " " + execute + " 0\n"
}

func TestCollect(t *testing.T) {
	x := proctest.NewTree(t)
	x.Write("proc/self/mountinfo", mountinfo)
	x.Write("proc/self/mountstats", stats("10", "10", "5", "100", "110"))
	x.Write("sys/fs/fuse/connections/51/waiting", "7\n")
	x.Write("sys/fs/fuse/connections/55/waiting", "2\n")
	for pid, connection := range map[string]string{"80": "50", "81": "51", "90": "51"} {
		x.Write("proc/"+pid+"/comm", "sshfs\n")
		x.Write("proc/"+pid+"/fdinfo/3", "pos:\t0\nflags:\t0100002\nfuse_connection:\t"+connection+"\n")
		require.NoError(t, os.MkdirAll(x.Dir+"/proc/"+pid+"/fd", 0o755))
		require.NoError(t, os.Symlink("/dev/fuse", x.Dir+"/proc/"+pid+"/fd/3"))
	}
	s := x.Open(Open)
	r := sample.NewRecorder(time.Unix(1700000000, 0))
	for i, phase := range []sample.Phase{sample.First, sample.Last} {
		if err := s.Collect(phase, r); err != nil {
			t.Error(err)
		}
		if i == 0 {
			x.Write("proc/self/mountstats", stats("14", "15", "25", "500", "640"))
		}
	}
	w := r.Window(time.Unix(1700000001, 0))
	read := sample.Entity{Device: "0:45", Class: "READ"}
	proctest.Want(t, w, sample.NFSRequests, read, 4) // mounted twice, counted once
	proctest.Want(t, w, sample.NFSTransmissions, read, 5)
	proctest.Want(t, w, sample.NFSQueueTime, read, 0.02)
	proctest.Want(t, w, sample.NFSServerTime, read, 0.4)
	proctest.Want(t, w, sample.NFSTime, read, 0.53)
	proctest.Want(t, w, sample.MountWaiting, sample.Entity{Device: "0:51"}, 7)
	proctest.Want(t, w, sample.MountWaiting, sample.Entity{Device: "0:55"}, 2)
	proctest.Want(t, w, sample.MountDaemon, sample.Entity{Device: "0:51", PID: 81}, 1)
	if comm := w.Processes[81].Comm; comm != "sshfs" {
		t.Errorf("the daemon is called %q", comm)
	}
	proctest.WantAbsent(t, w, sample.MountDaemon, sample.Entity{Device: "0:51", PID: 90})
	proctest.Want(t, w, sample.MountPoint, sample.Entity{Device: "0:45", Class: "/home"}, 1)
	proctest.Want(t, w, sample.MountFrom, sample.Entity{Device: "0:46", Class: "[fd00::9]:/vol/with blank"}, 1)
	proctest.Want(t, w, sample.MountKind, sample.Entity{Device: "0:53", Class: "cifs"}, 1)
	proctest.Want(t, w, sample.MountKind, sample.Entity{}, 0)
	n := 0
	w.Each(sample.MountKind, func(sample.Entity, *sample.Series) { n++ })
	if n != 6 {
		t.Errorf("%d kinds, want those of five file systems and the host's", n)
	}
}

// A kernel that does not say which connection a descriptor is: the daemon is the one
// process that has any, and not known where there are several.
func TestDaemonOfAnUntoldConnection(t *testing.T) {
	x := proctest.NewTree(t)
	x.Write("proc/self/mountinfo", mountinfo)
	x.Write("proc/self/mountstats", "")
	x.Write("sys/fs/fuse/connections/51/waiting", "1\n")
	open := func(pid string) {
		x.Write("proc/"+pid+"/comm", "sshfs\n")
		x.Write("proc/"+pid+"/fdinfo/3", "pos:\t0\nflags:\t0100002\nmnt_id:\t25\n")
		require.NoError(t, os.MkdirAll(x.Dir+"/proc/"+pid+"/fd", 0o755))
		require.NoError(t, os.Symlink("/dev/fuse", x.Dir+"/proc/"+pid+"/fd/3"))
	}
	s := x.Open(Open)
	open("81")
	daemon := sample.Entity{Device: "0:51", PID: 81}
	proctest.Want(t, proctest.Collect(t, s, sample.Last), sample.MountDaemon, daemon, 1)
	open("90")
	proctest.WantAbsent(t, proctest.Collect(t, s, sample.Last), sample.MountDaemon, daemon)
}

// What the clients of CIFS and Ceph count is of the file system that it is of.
func TestShares(t *testing.T) {
	x := proctest.NewTree(t)
	x.Write("proc/self/mountinfo", "45 21 0:53 / /share rw - cifs //Win/share rw\n46 21 0:54 / /other rw - smb3 //nas/b rw\n47 21 0:60 / /ceph rw - ceph a@b.c=/ rw\n")
	stats := func(n, jiffies, smbs, mean string) {
		x.Write("proc/fs/cifs/Stats", "Max requests in flight: 3\nTotal time spent processing by command. Time units are jiffies (100 per second)\n  8\t\t"+n+"\t"+jiffies+"\t\t5\t30\n1) \\\\win\\share\nSMBs: 9\n"+
			"Max requests in flight: 3\n2) \\\\nas\\b\nSMBs: "+smbs+"\n3) \\\\nas\\c\nSMBs: 7\n")
		x.Write("sys/kernel/debug/ceph/f.client4/metrics/latency", "item total avg_lat(us)\nread "+n+" "+mean+" 1 2 3\n")
	}
	s := x.Open(Open)
	r := sample.NewRecorder(time.Unix(1700000000, 0))
	stats("10", "100", "50", "2000")
	require.NoError(t, s.Collect(sample.First, r))
	stats("14", "140", "57", "3000")
	require.NoError(t, s.Collect(sample.Last, r))
	w := r.Window(time.Unix(1700000001, 0))
	smb := func(dev string) sample.Entity { return sample.Entity{Device: dev, Class: "SMB"} }
	proctest.Want(t, w, sample.ServedRequests, smb("0:53"), 4)
	proctest.Want(t, w, sample.ServedTime, smb("0:53"), 0.4)
	proctest.Want(t, w, sample.ServedRequests, smb("0:54"), 7)
	proctest.WantAbsent(t, w, sample.ServedTime, smb("0:54"))
	proctest.Want(t, w, sample.ServedRequests, sample.Entity{Device: "0:60", Class: "read"}, 4)
	proctest.Want(t, w, sample.ServedTime, sample.Entity{Device: "0:60", Class: "read"}, 0.022)
	// of a million requests, whose mean is told in microseconds, a second is not known
	stats("1000000", "140", "57", "3000")
	require.NoError(t, s.Collect(sample.First, sample.NewRecorder(time.Unix(1700000002, 0))))
	stats("1001000", "140", "57", "3001")
	r = sample.NewRecorder(time.Unix(1700000002, 0))
	require.NoError(t, s.Collect(sample.Last, r))
	w = r.Window(time.Unix(1700000003, 0))
	proctest.Want(t, w, sample.ServedRequests, sample.Entity{Device: "0:60", Class: "read"}, 1000)
	proctest.WantAbsent(t, w, sample.ServedTime, sample.Entity{Device: "0:60", Class: "read"})
}

// Nothing that is mounted is asked: a mount point that cannot be reached, as that of
// a server which is gone, is never opened, looked up or listed. What is read are
// files of /proc and /sys alone.
func TestAsksNobody(t *testing.T) {
	x := proctest.NewTree(t)
	x.Write("proc/self/mountinfo", "40 21 0:45 / "+x.Dir+"/gone rw - nfs4 nas:/gone rw\n")
	x.Write("proc/self/mountstats", "")
	require.NoError(t, os.Mkdir(x.Dir+"/gone", 0))
	s := x.Open(Open)
	w := proctest.Collect(t, s, sample.Last)
	proctest.Want(t, w, sample.MountPoint, sample.Entity{Device: "0:45", Class: x.Dir + "/gone"}, 1)
	if len(w.Gaps) != 0 {
		t.Errorf("%+v", w.Gaps)
	}
}
