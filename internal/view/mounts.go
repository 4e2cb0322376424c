package view

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"iocause/internal/figure"
	"iocause/internal/sample"
	"iocause/internal/table"
)

// MountsSources are the sources that Mounts reads.
func MountsSources() []string { return []string{"pid", "netdev", "mounts", "fuse", "pagecache"} }

// Mounts is the file systems of servers and daemons: what was asked of each, how
// long an answer took and where; and who asked and waited.
func Mounts(w *sample.Window, q *Query) []table.Table {
	all := servedMounts(w, q)
	return []table.Table{mountRows(w, all), mountUsers(w, q, all)}
}

// servedMount is a file system of a server or a daemon.
type servedMount struct {
	device, point, kind, from string

	requests, queue, answer, time float64 // of what is over; seconds
	resent, timeouts              float64
	sent, received                float64 // bytes
	daemon                        int
	fuse, counted                 bool // by a daemon; the kernel or a probe counts its requests
	timed                         bool // the kernel counts those that are over, and their time
}

// servedMounts are those that are mounted, those whose requests took longest first.
func servedMounts(w *sample.Window, q *Query) []*servedMount {
	by := map[string]*servedMount{}
	for m, set := range map[sample.Metric]func(*servedMount, string){
		sample.MountKind:  func(s *servedMount, v string) { s.kind = v },
		sample.MountPoint: func(s *servedMount, v string) { s.point = v },
		sample.MountFrom:  func(s *servedMount, v string) { s.from = v },
	} {
		w.Each(m, func(e sample.Entity, _ *sample.Series) {
			if e.Device == "" {
				return
			}
			if by[e.Device] == nil {
				by[e.Device] = &servedMount{device: e.Device}
			}
			set(by[e.Device], e.Class)
		})
	}
	maps.DeleteFunc(by, func(_ string, s *servedMount) bool {
		return q.File != "" && !inside(s.point, q.File) && !inside(q.File, s.point)
	})
	for _, s := range by {
		s.fuse = strings.HasPrefix(s.kind, "fuse") || s.kind == "virtiofs"
		s.count(w)
	}
	return slices.SortedFunc(maps.Values(by), func(a, b *servedMount) int {
		return cmp.Or(cmp.Compare(b.time, a.time), cmp.Compare(a.point, b.point))
	})
}

// count adds up what is known of its requests.
func (s *servedMount) count(w *sample.Window) {
	sum := func(m sample.Metric) float64 {
		v, _ := w.SumWhere(m, func(e sample.Entity) bool { return e.Device == s.device && e.PID == 0 })
		return v
	}
	if s.fuse {
		s.counted = w.Has(sample.FuseRequests)
		s.requests, s.queue, s.answer, s.time = sum(sample.FuseRequests), sum(sample.FuseQueueTime), sum(sample.FuseDaemonTime), sum(sample.FuseTime)
		most := 0.0
		w.Each(sample.FuseAnswers, func(e sample.Entity, n *sample.Series) {
			if v := n.Sum(); e.Device == s.device && (v > most || v == most && e.PID < s.daemon) {
				most, s.daemon = v, e.PID
			}
		})
		w.Each(sample.MountDaemon, func(e sample.Entity, _ *sample.Series) {
			if e.Device == s.device && s.daemon == 0 { // it answers nothing
				s.daemon = e.PID
			}
		})
		return
	}
	if s.counted = strings.HasPrefix(s.kind, "nfs"); !s.counted { // CIFS, Ceph
		s.requests, s.time = sum(sample.ServedRequests), sum(sample.ServedTime)
		w.Each(sample.ServedTime, func(e sample.Entity, _ *sample.Series) { s.timed = s.timed || e.Device == s.device })
		return
	}
	s.requests, s.queue, s.answer, s.time = sum(sample.NFSRequests), sum(sample.NFSQueueTime), sum(sample.NFSServerTime), sum(sample.NFSTime)
	s.resent, s.timeouts = max(0, sum(sample.NFSTransmissions)-s.requests), sum(sample.NFSTimeouts)
	s.sent, s.received = sum(sample.NFSSent), sum(sample.NFSReceived)
}

// mountRows is a line for each file system.
func mountRows(w *sample.Window, all []*servedMount) table.Table {
	t := table.Table{Key: "mounts", Title: "File systems of servers and daemons", Columns: []table.Column{
		{Key: "mount", Head: "MOUNT", Flex: true, Least: 16}, {Key: "kind", Head: "TYPE"},
		{Key: "from", Head: "FROM", Flex: true, Drop: 3},
		{Key: "requests_per_s", Head: "REQ/s", Unit: "count"},
		{Key: "request_seconds", Head: "EACH", Unit: "seconds"},
		{Key: "queue_seconds", Head: "queue", Unit: "seconds"},
		{Key: "server_seconds", Head: "server", Unit: "seconds"},
		{Key: "daemon_seconds", Head: "daemon", Unit: "seconds"},
		{Key: "daemon_pid", Head: "PID"}, {Key: "daemon_comm", Head: "DAEMON", Drop: 1},
		{Key: "under_way", Head: "BUSY", Unit: "count"},
		{Key: "waiting", Head: "NOW", Unit: "count"},
		{Key: "oldest_seconds", Head: "OLDEST", Unit: "seconds", Drop: 4},
		{Key: "sent_again", Head: "AGAIN", Unit: "count", Drop: 2},
		{Key: "timeouts", Head: "TIMEOUTS", Unit: "count", Drop: 5},
		{Key: "sent_bytes_per_s", Head: "SENT/s", Unit: "bytes", Drop: 6},
		{Key: "received_bytes_per_s", Head: "RECEIVED/s", Unit: "bytes", Drop: 6},
	}, Notes: append(missing(w, sample.MountKind), losses(w)...)}
	fuse, uncounted := false, []string{}
	for _, s := range all {
		e, per := sample.Entity{Device: s.device}, w.Seconds()
		each := func(seconds float64, is bool) table.Cell {
			if !is || s.requests == 0 {
				return table.None()
			}
			return table.Num(seconds / s.requests)
		}
		nfs := s.counted && !s.fuse
		now, ok := w.Value(sample.MountWaiting, e)
		oldest, isOld := w.Value(sample.FuseOldest, e)
		row := []table.Cell{table.Str(s.point), table.Str(s.kind), table.Str(s.from),
			table.Maybe(s.requests/per, s.counted || s.timed || s.requests > 0), each(s.queue+s.answer, s.fuse), each(s.queue, s.counted),
			each(s.answer, nfs), each(s.answer, s.fuse), pid(s.daemon), comm(w, s.daemon),
			table.Maybe(s.time/per, s.counted || s.timed), table.Maybe(now, ok), table.Maybe(oldest, isOld),
			table.Maybe(s.resent, nfs), table.Maybe(s.timeouts, nfs), table.Maybe(s.sent/per, nfs), table.Maybe(s.received/per, nfs)}
		if nfs || s.timed {
			row[4] = each(s.time, true)
		}
		t.Rows = append(t.Rows, row)
		fuse = fuse || s.fuse
		if !s.counted && !s.fuse && !s.timed && !slices.Contains(uncounted, s.kind) {
			uncounted = append(uncounted, s.kind)
		}
	}
	if fuse {
		t.Notes = append(t.Notes, missing(w, sample.FuseRequests, sample.MountWaiting)...)
	}
	for _, kind := range uncounted {
		t.Notes = append(t.Notes, "the kernel counts no times of "+kind+"; who waits for its files is below")
	}
	return t
}

// mountUsers is who asked the daemons, and who waited for files of any of them.
func mountUsers(w *sample.Window, q *Query, all []*servedMount) table.Table {
	t := table.Table{Key: "by_process", Title: "By process", Columns: []table.Column{
		{Key: "pid", Head: "PID"}, {Key: "comm", Head: "COMM", Flex: true},
		{Key: "mount", Head: "MOUNT", Flex: true, Least: 16},
		{Key: "requests_per_s", Head: "REQ/s", Unit: "count"},
		{Key: "queue_seconds", Head: "queue", Unit: "seconds"},
		{Key: "daemon_seconds", Head: "daemon", Unit: "seconds"},
		{Key: "under_way", Head: "BUSY", Unit: "count"},
		{Key: "waiting_threads", Head: "BLOCKED", Unit: "count"},
	}, Notes: append(missing(w, sample.WaitFor), "BLOCKED: threads of the process that wait for answers of any server or daemon, and for pages of this one's files")}
	known := map[string]*servedMount{}
	for _, s := range all {
		known[s.device] = s
	}
	type user struct {
		pid    int
		device string
	}
	g := newGroup(w, func(e sample.Entity) (user, bool) {
		return user{e.PID, e.Device}, e.PID != 0 && known[e.Device] != nil && (!q.narrow() || q.process(w, e.PID))
	})
	g.add(sample.FuseRequests, sample.FuseQueueTime, sample.FuseDaemonTime, sample.FuseTime, sample.MountWait)
	type asker struct {
		pid  int
		fuse bool
	}
	asked := map[asker]float64{} // of all file systems of daemons, or of servers
	for k, r := range g.rows {
		asked[asker{k.pid, known[k.device].fuse}] += r[sample.MountWait]
	}
	for k, seconds := range figure.PageWaits(w, func(pid int) bool { return !q.narrow() || q.process(w, pid) }) {
		u := user{k.PID, k.Device}
		if known[u.device] == nil {
			continue
		}
		if g.rows[u] == nil {
			g.rows[u] = map[sample.Metric]float64{}
		}
		g.rows[u][sample.CacheWait] = seconds
	}
	// Who waits since before the window began has asked for nothing in it: whose answer
	// that is, is known where there is only one that it can be.
	w.Each(sample.WaitFor, func(e sample.Entity, n *sample.Series) {
		only := onlyOf(all, e.Class)
		if e.PID == 0 || only == nil || n.Sum() == 0 || q.narrow() && !q.process(w, e.PID) {
			return
		}
		if k := (user{e.PID, only.device}); g.rows[k] == nil {
			g.rows[k] = map[sample.Metric]float64{}
		}
	})
	keys := g.keys(func(r map[sample.Metric]float64) float64 { return max(r[sample.FuseTime], r[sample.CacheWait]) }, func(a, b user) int {
		return cmp.Or(cmp.Compare(a.pid, b.pid), cmp.Compare(a.device, b.device))
	})
	for _, k := range keys {
		r, m, per := g.rows[k], known[k.device], w.Seconds()
		counted := m.fuse && m.counted
		class := "network"
		if m.fuse {
			class = "fuse"
		}
		blocked, ok := w.Sum(sample.WaitFor, sample.Entity{PID: k.pid, Class: class})
		if all := asked[asker{k.pid, m.fuse}]; all > 0 {
			blocked *= r[sample.MountWait] / all
		}
		queue, daemon := table.None(), table.None()
		if counted {
			queue, daemon = ratio(r[sample.FuseQueueTime], r[sample.FuseRequests]), ratio(r[sample.FuseDaemonTime], r[sample.FuseRequests])
		}
		t.Rows = append(t.Rows, []table.Cell{pid(k.pid), comm(w, k.pid), table.Str(m.point), table.Maybe(r[sample.FuseRequests]/per, counted),
			queue, daemon, table.Maybe(r[sample.FuseTime]/per, counted),
			table.Maybe((blocked+r[sample.CacheWait])/per, ok || r[sample.CacheWait] > 0)})
	}
	return t
}

// onlyOf is the one mount whose answers threads wait for in such a wait, nil where
// there are several or none.
func onlyOf(all []*servedMount, class string) *servedMount {
	var only *servedMount
	for _, s := range all {
		if class != "fuse" && class != "network" || s.fuse != (class == "fuse") {
			continue
		}
		if only != nil {
			return nil
		}
		only = s
	}
	return only
}
