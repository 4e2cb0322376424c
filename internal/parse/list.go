// Package parse reads what other tools printed, out of whatever text it stands
// in, and makes windows of it as if it had been observed here. It is the one
// place that knows all the readers.
package parse

import (
	"iocause/internal/parse/biosnoop"
	"iocause/internal/parse/blkparse"
	"iocause/internal/parse/btt"
	"iocause/internal/parse/cachestat"
	"iocause/internal/parse/cachetop"
	"iocause/internal/parse/cifsiostat"
	"iocause/internal/parse/dd"
	"iocause/internal/parse/diskstats"
	"iocause/internal/parse/dmesg"
	"iocause/internal/parse/dstat"
	"iocause/internal/parse/ebsnvme"
	"iocause/internal/parse/filetop"
	"iocause/internal/parse/fio"
	"iocause/internal/parse/free"
	"iocause/internal/parse/histogram"
	"iocause/internal/parse/interrupts"
	"iocause/internal/parse/iostat"
	"iocause/internal/parse/iotop"
	"iocause/internal/parse/jstack"
	"iocause/internal/parse/lines"
	"iocause/internal/parse/lsof"
	"iocause/internal/parse/mdstat"
	"iocause/internal/parse/meminfo"
	"iocause/internal/parse/mountstats"
	"iocause/internal/parse/nfsiostat"
	"iocause/internal/parse/perfreport"
	"iocause/internal/parse/perftrace"
	"iocause/internal/parse/pressure"
	"iocause/internal/parse/procvmstat"
	"iocause/internal/parse/prometheus"
	"iocause/internal/parse/residency"
	"iocause/internal/parse/settings"
	"iocause/internal/parse/slabtop"
	"iocause/internal/parse/slower"
	"iocause/internal/parse/smart"
	"iocause/internal/parse/strace"
	"iocause/internal/parse/sysstat"
	"iocause/internal/parse/threads"
	"iocause/internal/parse/timehist"
	"iocause/internal/parse/vmstat"
	"iocause/internal/parse/zpool"
	"iocause/internal/parse/zpooliostat"
)

// Tool is one kind of output that can be read.
type Tool struct {
	Name string
	What string // which versions, options and layouts, for people
	// Find is the column where the tool's output begins in a line, -1 when it
	// does not begin there.
	Find func(line string) int
	// New makes a reader for an output; before is the text that precedes it.
	New func(before string) lines.Reader
	// Pieces says that people quote the output in pieces: text between them
	// does not end it.
	Pieces bool
}

// List is every tool. Where two could begin in a line, the first one does.
func List() []Tool {
	return []Tool{
		{Name: "iostat", What: "-x -z -k -m -t -h, old and new columns, -o JSON", Find: iostat.Find, New: iostat.New},
		{Name: "fio", What: "reports of 2.x and 3.x, text and JSON, whole or quoted in part", Find: fio.Find, New: fio.New, Pieces: true},
		{Name: "cachestat", What: "of perf-tools and bcc", Find: cachestat.Find, New: cachestat.New},
		{Name: "free", What: "all units, -w, -s, the layout before procps 3.3.10", Find: free.Find, New: free.New},
		{Name: "dd", What: "the closing lines", Find: dd.Find, New: dd.New},
		{Name: "vmstat", What: "-w -a -t -S", Find: vmstat.Find, New: vmstat.New},
		{Name: "sysstat", What: "sar -u -B -W -r -S -q -d, sadf -d -j -x, mpstat, pidstat -u -d -h", Find: sysstat.Find, New: sysstat.New},
		{Name: "histogram", What: "biolatency and bitesize of bcc and bpftrace, iolatency", Find: histogram.Find, New: histogram.New},
		{Name: "iotop", What: "-b with -o -a -t -P -k -d -qqq", Find: iotop.Find, New: iotop.New},
		{Name: "lsof", What: "the list of open files, whole or of a process, +L1", Find: lsof.Find, New: lsof.New},
		{Name: "threads", What: "htop, top -b with summary, BusyBox's top, ps with a state column", Find: threads.Find, New: threads.New},
		{Name: "meminfo", What: "/proc/meminfo, whole or in part, once or repeated", Find: meminfo.Find, New: meminfo.New},
		{Name: "procvmstat", What: "/proc/vmstat, at two instants", Find: procvmstat.Find, New: procvmstat.New, Pieces: true},
		{Name: "diskstats", What: "/proc/diskstats, at two instants", Find: diskstats.Find, New: diskstats.New, Pieces: true},
		{Name: "pressure", What: "/proc/pressure", Find: pressure.Find, New: pressure.New, Pieces: true},
		{Name: "residency", What: "fincore -J -o, vmtouch, pcstat (-terse)", Find: residency.Find, New: residency.New},
		{Name: "filetop", What: "of bcc", Find: filetop.Find, New: filetop.New},
		{Name: "slower", What: "fileslower, ext4slower and similar tools of bcc, -j", Find: slower.Find, New: slower.New},
		{Name: "strace", What: "-T with -t, -tt, -ttt or -r, -f, -y; -c", Find: strace.Find, New: strace.New, Pieces: true},
		{Name: "jstack", What: "jstack, -l, jcmd Thread.print, kill -3", Find: jstack.Find, New: jstack.New},
		{Name: "slabtop", What: "-o, sorted by anything, whole or in part", Find: slabtop.Find, New: slabtop.New},
		{Name: "biosnoop", What: "biosnoop of bcc and bpftrace, biotop of bcc, iosnoop of perf-tools", Find: biosnoop.Find, New: biosnoop.New},
		{Name: "cachetop", What: "of bcc", Find: cachetop.Find, New: cachetop.New},
		{Name: "blkparse", What: "the default format, -f below its command; files of blktrace", Find: blkparse.Find, New: blkparse.New},
		{Name: "btt", What: "of the files of blktrace", Find: btt.Find, New: btt.New},
		{Name: "timehist", What: "perf sched timehist, -s, -V, -w, --state", Find: timehist.Find, New: timehist.New},
		{Name: "perftrace", What: "perf trace -s", Find: perftrace.Find, New: perftrace.New},
		{Name: "perfreport", What: "perf report --stdio, also -g folded; perf top", Find: perfreport.Find, New: perfreport.New},
		{Name: "prometheus", What: "histograms of the time of syncs, as of etcd's log", Find: prometheus.Find, New: prometheus.New},
		{Name: "dstat", What: "dstat and dool: -c -d -D -g -p -m -t", Find: dstat.Find, New: dstat.New},
		{Name: "mdstat", What: "/proc/mdstat, whole or in part", Find: mdstat.Find, New: mdstat.New},
		{Name: "zpool", What: "zpool status of ZFS, whole or the table of disks", Find: zpool.Find, New: zpool.New},
		{Name: "zpooliostat", What: "zpool iostat, -l -v", Find: zpooliostat.Find, New: zpooliostat.New},
		{Name: "nfsiostat", What: "of nfs-utils, sysstat and PCP", Find: nfsiostat.Find, New: nfsiostat.New},
		{Name: "mountstats", What: "/proc/self/mountstats once or twice, mountstats of nfs-utils", Find: mountstats.Find, New: mountstats.New, Pieces: true},
		{Name: "cifsiostat", What: "of sysstat, -k -m", Find: cifsiostat.Find, New: cifsiostat.New},
		{Name: "smart", What: "smartctl -a -x -H -A, nvme smart-log, hdparm -W, whole or in part", Find: smart.Find, New: smart.New, Pieces: true},
		{Name: "ebsnvme", What: "nvme amzn stats and ebsnvme, at two instants", Find: ebsnvme.Find, New: ebsnvme.New, Pieces: true},
		{Name: "interrupts", What: "/proc/interrupts, once or at two instants", Find: interrupts.Find, New: interrupts.New, Pieces: true},
		{Name: "dmesg", What: "the kernel's log: I/O errors, time-outs, hung tasks, no memory", Find: dmesg.Find, New: dmesg.New, Pieces: true},
		{Name: "settings", What: "vm.NAME = VALUE of sysctl; amounts of total and available memory", Find: settings.Find, New: settings.New},
	}
}
