package procfile

import (
	"bytes"
	"strings"

	"iocause/internal/host"
)

// CIFSShare is what /proc/fs/cifs/Stats says of one share (fs/smb/client/cifs_debug.c,
// smb2ops.c), since it was mounted or the file was written to.
type CIFSShare struct {
	Name     string // \\server\share, with slashes
	Requests uint64 // SMBs sent
	// Of all commands to its server, where the kernel measures them
	// (CONFIG_CIFS_STATS2); other shares of the server are in it.
	Timed bool
	Alone bool // no other share is of that server
	Ended uint64
	Time  float64 // seconds, summed
}

// ParseCIFSStats parses that file.
func ParseCIFSStats(b []byte) []CIFSShare {
	var all []CIFSShare
	var server CIFSShare // what is known of the server that is being read
	from, ticks := 0, uint64(0)
	end := func() {
		for i := from; i < len(all); i++ {
			all[i].Timed, all[i].Ended, all[i].Time = server.Timed, server.Ended, server.Time
			all[i].Alone = len(all)-from == 1
		}
		from, server, ticks = len(all), CIFSShare{}, 0
	}
	for len(b) > 0 {
		var line []byte
		line, b = host.Line(b)
		text := strings.TrimSpace(string(line))
		f := strings.Fields(text)
		switch {
		case strings.HasPrefix(text, "Max requests in flight:"):
			end()
		case strings.HasPrefix(text, "Total time spent processing by command"):
			_, unit, _ := bytes.Cut(line, []byte("("))
			if words := bytes.Fields(unit); len(words) > 0 {
				ticks, _ = host.Uint(words[0])
			}
			server.Timed = ticks > 0
		case len(f) == 5 && ticks > 0 && number(f[0]):
			n, ok := host.Uint([]byte(f[1]))
			t, also := host.Uint([]byte(f[2]))
			if ok && also {
				server.Ended += n
				server.Time += float64(t) / float64(ticks)
			}
		case len(f) >= 2 && strings.HasSuffix(f[0], ")") && number(strings.TrimSuffix(f[0], ")")) && strings.HasPrefix(f[1], `\\`):
			all = append(all, CIFSShare{Name: strings.ReplaceAll(f[1], `\`, "/")})
		case len(f) == 2 && f[0] == "SMBs:" && len(all) > from:
			all[len(all)-1].Requests, _ = host.Uint([]byte(f[1]))
		}
	}
	end()
	return all
}

func number(s string) bool { _, ok := host.Uint([]byte(s)); return ok }

// CephLatency is one row of metrics/latency of a Ceph client in debugfs (fs/ceph/debugfs.c).
type CephLatency struct {
	Name     string // read, write, metadata, copyfrom
	Requests uint64
	Time     float64 // seconds, summed
	Off      float64 // seconds that this may be short of: the file has means, in whole microseconds
}

// ParseCephLatency parses that file: item, total, avg_lat(us), min, max, stdev.
func ParseCephLatency(b []byte) []CephLatency {
	var all []CephLatency
	for len(b) > 0 {
		var line []byte
		line, b = host.Line(b)
		f := bytes.Fields(line)
		if len(f) < 3 {
			continue
		}
		n, ok := host.Uint(f[1])
		mean, also := host.Uint(f[2])
		if ok && also {
			const microsecond = 1e-6
			all = append(all, CephLatency{Name: string(f[0]), Requests: n, Time: float64(n) * float64(mean) * microsecond, Off: float64(n) * microsecond})
		}
	}
	return all
}
