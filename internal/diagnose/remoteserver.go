package diagnose

import (
	"cmp"
	"fmt"
	"strings"

	"iocause/internal/sample"
)

const (
	// resentLimit is the part of what is sent that is sent again from which on the
	// network is to blame: a network that is well loses far less.
	resentLimit = 0.01
	// serverShare is the part of a request's time between sending and answer from
	// which on the server and the way there set the pace.
	serverShare = 0.50
	// linkFull is the part of a link's speed from which on it is full.
	linkFull = 0.90
)

// nfsView is what became of all requests to a server's file system.
type nfsView struct {
	requests, sent, timeouts float64
	queue, server, time      float64 // seconds
	resent                   float64 // part of what was sent, 0 to 1
	segments                 float64 // the same of the host's TCP segments
	link                     string  // an interface that is full, "" when none is
	full                     float64 // part of its speed
}

func (c *Case) nfs(m *served) nfsView {
	var v nfsView
	for metric, to := range map[sample.Metric]*float64{
		sample.NFSRequests: &v.requests, sample.NFSTransmissions: &v.sent, sample.NFSTimeouts: &v.timeouts,
		sample.NFSQueueTime: &v.queue, sample.NFSServerTime: &v.server, sample.NFSTime: &v.time,
	} {
		*to, _ = c.w.SumWhere(metric, func(e sample.Entity) bool { return e.Device == m.device && m.device != "" })
	}
	v.resent = max(0, v.sent-v.requests) / max(1, v.sent)
	if out, _ := c.all(sample.TCPSegments); out > 0 {
		again, _ := c.all(sample.TCPAgain)
		v.segments = again / out
	}
	c.w.Each(sample.NetSpeed, func(e sample.Entity, s *sample.Series) {
		for _, way := range []sample.Metric{sample.NetReceived, sample.NetSent} {
			n, _ := c.w.Sum(way, sample.Entity{Device: e.Device})
			if r := n / c.w.Seconds() / max(1, s.Last()); r >= linkFull && r > v.full {
				v.link, v.full = e.Device, r
			}
		}
	})
	return v
}

// network says why the network, or the client's own queue for it, sets the pace;
// "" when it does not.
func (v *nfsView) network() string {
	switch {
	case v.resent >= resentLimit || v.timeouts >= 1:
		return fmt.Sprintf("%s of the requests were sent again, %.0f ran into a timeout", percent(v.resent), v.timeouts)
	case v.segments >= resentLimit:
		return fmt.Sprintf("%s of the host's TCP segments were sent again", percent(v.segments))
	case v.link != "":
		return fmt.Sprintf("%s is at %s of its speed", v.link, percent(v.full))
	case v.time > 0 && v.queue >= longQueue*v.time:
		return fmt.Sprintf("requests wait %s of their time in this host before they are sent", percent(v.queue/v.time))
	}
	return ""
}

// evidence is what both causes show.
func (v *nfsView) evidence(c *Case, all float64) []Evidence {
	s := c.w.Seconds()
	e := []Evidence{c.figure("time blocked on a server", c.victim.shareOf(all, s), "ratio", sample.WaitFor)}
	if c.w.Told && v.requests > 0 {
		e[0] = c.figure("reads and writes under way on average", all/s, "count", sample.NFSTime)
	} else if c.w.Told {
		e[0] = c.figure("times without an answer", v.timeouts, "count", sample.NFSTimeouts)
	}
	if !c.w.Has(sample.NFSRequests) {
		return e
	}
	e = append(e, c.figure("requests answered", v.requests/s, "count/s", sample.NFSRequests))
	if v.requests > 0 {
		e = append(e,
			c.figure("a request takes", v.time/v.requests, "seconds", sample.NFSTime),
			c.figure("of that in this host's queue", v.queue/v.requests, "seconds", sample.NFSQueueTime),
			c.figure("of that from sending to the answer", v.server/v.requests, "seconds", sample.NFSServerTime),
			c.figure("sent again", v.resent, "ratio", sample.NFSTransmissions))
	}
	if c.w.Has(sample.TCPSegments) {
		e = append(e, c.figure("TCP segments sent again", v.segments, "ratio", sample.TCPAgain))
	}
	return e
}

// remote judges what both causes ask first.
func (c *Case) remote() (m served, all float64, v nfsView, out *Verdict) {
	if !c.w.Has(sample.MountKind) {
		return m, 0, v, refuse(cannotTell(c.w.WhyAbsent(sample.MountKind)))
	}
	if !c.w.Told && !c.w.Has(sample.WaitFor) && !c.w.Has(sample.CacheWait) {
		return m, 0, v, refuse(cannotTell(c.w.WhyAbsent(sample.WaitFor)))
	}
	if c.w.Told {
		if _, all := c.toldServed(); all == 0 {
			return m, 0, v, refuse(no(fmt.Sprintf("no file server takes %s or more for a read or a write", duration(slowAnswer))))
		}
	}
	if why := c.notServed(false); why != "" {
		return m, 0, v, refuse(no(why))
	}
	m, all = c.servedWait(false)
	return m, all, c.nfs(&m), nil
}

// remoteServerSlow: programs wait for the answers of a file server.
func remoteServerSlow() Cause {
	return Cause{
		ID: RemoteServerSlow, Title: "a file server is slow to answer",
		Needs: [][]sample.Metric{{sample.MountKind}, {sample.WaitFor, sample.CacheWait, sample.NFSTime}},
		Over:  append(deviceCauses(), ColdCache, SyncWrites),
		Judge: func(c *Case) Verdict {
			m, all, v, out := c.remote()
			if out != nil {
				return *out
			}
			counted := v.requests > 0 || v.sent > 0
			answered, took, timed := c.served(&m)
			nfs := strings.HasPrefix(m.kind, "nfs")
			if why := v.network(); why != "" && counted {
				return no("the network: " + why)
			}
			if counted && v.server < serverShare*v.time {
				return no(fmt.Sprintf("of the time of requests to %s only %s lies between sending and answer", m.String(), percent(v.server/v.time)))
			}
			conf, do := 0.90, "the server of "+m.from+" and the way to it"
			expect := "waiting for its answers took longer than everything else: look at its disks, processors and network"
			switch {
			case c.w.Told && !counted:
				conf, expect = 0.65, "it did not answer: it is down, hangs, or cannot be reached"
			case c.w.Told:
				conf = 0.80 // means, of nobody knows whose requests
			case !counted && (nfs || timed && answered == 0):
				conf, expect = 0.80, "it answered no request while it was observed: it is down, hangs, or cannot be reached"
			case !counted && took > 0:
				conf, expect = 0.75, "its answers take that long; whether the server or the network does, only the server can tell: look at its disks, processors and network"
			case !counted:
				conf, expect = 0.60, "the kernel keeps no times of "+m.kind+": look from the server to see whether the network or the server takes the time"
			}
			e := v.evidence(c, all)
			if took > 0 {
				e = append(e, c.figure("requests answered", answered/c.w.Seconds(), "count/s", sample.ServedRequests), c.figure("a request takes", took/answered, "seconds", sample.ServedTime))
			}
			fewer := "read and write in larger parts (rsize, wsize)"
			switch { // what it has options for
			case nfs:
				fewer = "cache attributes for longer (actimeo, nocto), " + fewer
			case m.kind == "cifs" || m.kind == "smb3":
				fewer = "cache attributes for longer (actimeo), " + fewer
			case m.kind == "9p":
				fewer = "read and write in larger parts (msize), keep what was read where nobody else writes (cache=loose)"
			}
			return Verdict{
				Answer: Yes, Confidence: conf, Weight: c.part(all), Culprit: Culprit{File: m.point, Device: m.from}, Evidence: e,
				Disprove: "the server answers the same requests at once to another client, or locally",
				Advice: []Advice{
					c.promise(removal{maybe: all, kernel: true}).advise("look at "+do, expect).with(nfsiostat(&m)),
					{Do: "send it fewer requests: " + fewer, Expect: "fewer answers to wait for"},
				},
			}
		},
	}
}

// served is what clients without NFS's counters count of a server: requests that are
// over, and the seconds of all of them, 0 where none is; timed where the kernel measures
// these.
func (c *Case) served(m *served) (requests, seconds float64, timed bool) {
	of := func(e sample.Entity) bool { return e.Device == m.device && m.device != "" }
	requests, _ = c.w.SumWhere(sample.ServedRequests, of)
	c.w.Each(sample.ServedTime, func(e sample.Entity, _ *sample.Series) { timed = timed || of(e) })
	if requests > 0 { // the kernel shows the two one after the other: of none there may be a time
		seconds, _ = c.w.SumWhere(sample.ServedTime, of)
	}
	return requests, seconds, timed
}

// nfsiostat is the command that shows the same, "" for what is no NFS.
func nfsiostat(m *served) string {
	if !strings.HasPrefix(m.kind, "nfs") || !typeable(m.point) {
		return ""
	}
	return "nfsiostat 1 3 " + m.point
}

// networkLimitsIO: requests to a file server are lost on the way, or wait to be sent.
func networkLimitsIO() Cause {
	return Cause{
		ID: NetworkLimitsIO, Title: "the network delays requests to a file server",
		Needs: [][]sample.Metric{{sample.MountKind}, {sample.WaitFor, sample.CacheWait, sample.NFSTime}},
		Over:  append(deviceCauses(), ColdCache, SyncWrites),
		Judge: func(c *Case) Verdict {
			m, all, v, out := c.remote()
			if out != nil {
				return *out
			}
			if !c.w.Has(sample.NFSRequests) {
				return cannotTell("the kernel has no counters of requests to " + m.String() + ": only of NFS")
			}
			if v.requests == 0 && v.sent == 0 {
				return cannotTell("no request to " + m.String() + " ended while it was observed")
			}
			why := v.network()
			if why == "" {
				return no(fmt.Sprintf("only %s of what was sent to %s was sent again, no link is full, and requests wait only %s of their time to be sent", percent(v.resent), m.String(), percent(v.queue/max(v.time, 1e-9))))
			}
			e := v.evidence(c, all)
			if v.link != "" {
				e = append(e, c.figure("of the speed of "+v.link, v.full, "ratio", sample.NetSpeed).as("of-the-speed-of-the-link"))
			}
			return Verdict{
				Answer: Yes, Confidence: 0.85, Weight: c.part(all), Culprit: Culprit{File: m.point, Device: cmp.Or(v.link, m.from)}, Evidence: e,
				Disprove: "the program waits as long although no request is sent again or waits to be sent",
				Advice:   []Advice{v.advice(c, &m, all)},
			}
		},
	}
}

func (v *nfsView) advice(c *Case, m *served, all float64) Advice {
	gain := c.promise(removal{maybe: all, kernel: true})
	switch {
	case v.resent >= resentLimit || v.timeouts >= 1 || v.segments >= resentLimit:
		return gain.advise("find where packets to the server of "+m.from+" are lost: errors and drops of the interfaces and switches on the way, the same MTU everywhere, one path of a bond that is bad",
			v.network()).with("nstat -az TcpRetransSegs TcpOutSegs")
	case v.link != "":
		return gain.advise("move less over "+v.link+", or give it more: another interface, a faster one, several (nconnect, session trunking)", v.network())
	}
	return gain.advise("allow more requests in flight: mount with nconnect=4 or more, raise sunrpc.tcp_max_slot_table_entries, and the server's threads (nfsd) with it", v.network())
}
