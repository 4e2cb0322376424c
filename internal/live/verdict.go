package live

import (
	"fmt"
	"maps"
	"strconv"
	"time"

	tea "charm.land/bubbletea/v2"

	"iocause/internal/diagnose"
	"iocause/internal/present/text"
	"iocause/internal/table"
)

// judgeShare is how much longer than judging took nothing is judged: it shall
// take 4 thousandths of a processor.
const judgeShare = 250

// judge asks for the verdict of the window that is shown, unless one is being
// worked out.
func (m *Model) judge() tea.Cmd {
	if !m.verdict || m.judging || m.window == nil || m.verdicts[m.at] != nil {
		return nil
	}
	if m.now() && (!m.state.Ready || m.window.Start.Add(m.window.Length).Before(m.rest)) {
		return nil
	}
	m.judging = true
	n, feed := m.at, m.feed
	return func() tea.Msg {
		began := time.Now()
		r, err := feed.Judge(n)
		return VerdictMsg{n, r, err, time.Since(began)}
	}
}

// judged takes a verdict.
func (m *Model) judged(msg VerdictMsg) tea.Cmd {
	m.judging = false
	if msg.Err != nil {
		m.said = "judging: " + msg.Err.Error()
		return nil
	}
	m.verdicts[msg.N] = msg.Report
	m.marks[msg.N] = mark{msg.Report.Primary, msg.Report.Victim.Comm, msg.Report.Victim.Cgroup, msg.Report.Window.Start}
	// of those that nobody looks at any more the mark will do
	maps.DeleteFunc(m.verdicts, func(n int, _ *diagnose.Report) bool { return n < msg.N-mostVerdicts || n > msg.N+mostVerdicts })
	maps.DeleteFunc(m.marks, func(n int, _ mark) bool { return n < m.first })
	if m.window != nil {
		m.rest = m.window.Start.Add(m.window.Length).Add(judgeShare * msg.Took)
	}
	if !m.now() {
		return m.judge() // another window may be shown by now
	}
	return nil
}

// now tells that what is shown goes on.
func (m *Model) now() bool { return m.follow && m.o.Past == "" }

// mark is what of a verdict is kept longer than itself.
type mark struct {
	primary      diagnose.ID
	comm, cgroup string    // of the victim
	start        time.Time // of what was judged
}

// mostVerdicts is how many verdicts are kept on each side of the newest one;
// others are worked out again when somebody goes there.
const mostVerdicts = 60

// latest is the verdict of the window that is shown, or the last one before it
// that was judged not long ago.
func (m *Model) latest() (n int, r *diagnose.Report) {
	for n := m.at; n >= max(m.at-m.recently(), m.first); n-- {
		if r := m.verdicts[n]; r != nil {
			return n, r
		}
	}
	return 0, nil
}

// recently is how many windows a verdict stands for.
func (m *Model) recently() int {
	if !m.now() {
		return 0
	}
	return 30
}

// since is from when on the verdicts have been the same, without a break.
func (m *Model) since(n int) time.Time {
	first, now := n, m.marks[n]
	for k := n - 1; k >= m.first && first-k <= 30; k-- {
		old, ok := m.marks[k]
		if !ok {
			continue // not judged
		}
		if old.primary != now.primary || old.comm != now.comm || old.cgroup != now.cgroup {
			break
		}
		first = k
	}
	return m.marks[first].start
}

// answer is what a report says, in a word and how that looks.
func answer(r *diagnose.Report) (label string, k look) {
	switch {
	case r.Primary == diagnose.Unknown || len(r.Findings) == 0:
		return "CANNOT TELL", warn
	case r.Primary == diagnose.Healthy:
		return "NO PROBLEM", good
	case r.Findings[0].Likely:
		return "LIKELY", warn
	}
	return "PROBLEM", bad
}

// verdictLines are the two lines at the top.
func (m *Model) verdictLines() []string {
	first, second := m.line().put(" ", plain), m.line().put(" ", plain)
	clock := m.clock()
	first.width -= text.Width(clock) + 2
	n, r := m.latest()
	switch {
	case len(m.strips) == 0:
		first.put("STARTING", strong).put("  the first figures come in a moment", plain)
	case !m.verdict:
		first.put("NO VERDICT", strong).put("  it is off; v loads its BPF programs", plain)
	case r == nil && m.state.Loading:
		first.put("LOADING", strong).put("  the BPF programs that a verdict needs", plain)
	case r == nil:
		first.put("JUDGING", strong).put("  the last seconds", plain)
	default:
		label, k := answer(r)
		first.put(label, k).put("  ", plain)
		if r.Primary != diagnose.Healthy && r.Primary != diagnose.Unknown {
			first.put(string(r.Primary)+": ", strong)
		}
		first.put(text.Escape(r.Title), plain)
		for i, part := range m.parts(n, r) {
			if i > 0 {
				part = " · " + part
			}
			if second.room() < text.Width(part) && i > 0 {
				continue
			}
			second.put(part, plain)
		}
	}
	first.width = m.width
	first.right(clock, m.clockLook())
	return []string{first.String(), second.String()}
}

// parts are what the second line says of a verdict, the most important first.
func (m *Model) parts(n int, r *diagnose.Report) []string {
	var all []string
	if r.Primary == diagnose.Healthy || r.Primary == diagnose.Unknown || len(r.Findings) == 0 {
		if len(r.Waiters) > 0 {
			w := &r.Waiters[0]
			all = append(all, fmt.Sprintf("%s waits most: %s of its time awake", who(&w.Who), percent(w.Share)))
		} else {
			all = append(all, "nobody waits")
		}
		if r.Blind != "" {
			all = append(all, text.Escape(r.Blind))
		}
		if len(r.CannotTell) > 0 {
			all = append(all, fmt.Sprintf("%d causes unchecked", len(r.CannotTell)))
		}
		return append(all, m.sinceWhen(n, r))
	}
	f := &r.Findings[0]
	victim := who(&r.Victim)
	if r.VictimWaits != nil {
		victim += " waits " + percent(r.VictimWaits.Share)
	}
	if victim == "" { // a share of what, the verdict in full says
		all = append(all, "no single program waits", "explains "+percent(f.Weight))
	} else {
		all = append(all, victim, percent(f.Weight)+" explained")
	}
	by, what := culprit(&f.Culprit, &r.Victim)
	for _, part := range []string{by, m.sinceWhen(n, r), what, percent(f.Confidence) + " sure", "d details"} {
		if part != "" {
			all = append(all, part)
		}
	}
	return all
}

func (m *Model) sinceWhen(n int, r *diagnose.Report) string {
	since := m.since(n)
	length := r.Window.Start.Add(time.Duration(r.Window.Seconds * float64(time.Second))).Sub(since)
	if m.width < 100 {
		return "since " + since.Local().Format("15:04:05")
	}
	return fmt.Sprintf("since %s (%s)", since.Local().Format("15:04:05"), table.Duration(length.Round(time.Second).Seconds()))
}

// who names a process or what else a culprit is.
func who(c *diagnose.Culprit) string {
	name := text.Middle(text.Escape(c.Comm), 20)
	switch {
	case c.Processes > 1:
		return fmt.Sprintf("%s (%d processes)", name, c.Processes)
	case c.PID != 0:
		return fmt.Sprintf("%s (%d)", name, c.PID)
	case c.Comm != "":
		return name
	case c.Cgroup != "":
		return text.Middle(text.Escape(c.Cgroup), 30)
	}
	return text.Escape(c.Device)
}

// culprit is who is behind it, and with what; "" where that is not said. Of what is
// the victim's own only the place is: the cause may be a bad disk, and nothing that it
// does.
func culprit(c, victim *diagnose.Culprit) (by, what string) {
	own := c.PID != 0 && c.PID == victim.PID
	if !own && *c != (diagnose.Culprit{}) {
		by = "by " + who(c)
	}
	switch {
	case c.File != "":
		what = "file " + text.Middle(text.Escape(c.File), 40)
	case !own && c.Cgroup != "" && c.Cgroup != "/" && c.PID != 0:
		what = "cgroup " + text.Middle(text.Escape(c.Cgroup), 30)
	case c.Device != "" && (c.PID != 0 || c.Comm != ""):
		what = "device " + text.Escape(c.Device)
	}
	return by, what
}

// clock is which time is shown.
func (m *Model) clock() string {
	if m.window == nil {
		return ""
	}
	at := m.window.Start.Add(m.window.Length).Local().Format("15:04:05")
	behind := ""
	if k := m.newest() - m.at; k > 0 {
		behind = fmt.Sprintf(" %s before the newest", table.Duration(m.window.Length.Seconds()*float64(k)))
	}
	switch {
	case m.playing:
		return "PLAYING " + at + " "
	case m.o.Past != "":
		return fmt.Sprintf("%s  %d of %d ", at, m.at-m.base+1, len(m.strips))
	case m.follow:
		return "LIVE " + at + " "
	}
	return "PAUSED " + at + behind + " "
}

func (m *Model) clockLook() look {
	if m.now() {
		return faint
	}
	return warn
}

// percent writes a share that is an estimate: without decimals.
func percent(share float64) string { return strconv.FormatFloat(share*100, 'f', 0, 64) + " %" }
