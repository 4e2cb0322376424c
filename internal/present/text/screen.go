package text

import (
	"fmt"
	"slices"
	"strings"

	"iocause/internal/diagnose"
	"iocause/internal/sample"
	"iocause/internal/table"
)

// A screen is a report as it is read first: on a terminal of 80 columns and 24
// lines the answer must not scroll away, with the prompt below it.
const screenLines = 21

// keyWidth is the column that the text of a screen's sections starts at.
const keyWidth = 9

// short is how much of a report a screen says.
type short struct {
	evidence, also, ways, waiters int
	lines                         int  // of each text but what to do, which is whole: where to, and how far, stands at its end
	expect                        int  // lines of what the fix gives
	tight                         bool // no empty line above the last
}

// screen makes the longest screen that is short enough.
func screen(r *diagnose.Report, s Style) *page {
	var p *page
	for _, d := range []short{
		{evidence: 6, also: 3, ways: 2, lines: 3, expect: 4, waiters: 5},
		{evidence: 5, also: 2, ways: 2, lines: 3, expect: 4, waiters: 4},
		{evidence: 5, also: 2, ways: 1, lines: 3, expect: 3, waiters: 4},
		{evidence: 4, also: 1, ways: 1, lines: 2, expect: 3, waiters: 3},
		{evidence: 3, also: 1, ways: 1, lines: 2, expect: 2, waiters: 2},
		{evidence: 3, also: 1, ways: 1, lines: 2, expect: 2, waiters: 2, tight: true},
		{evidence: 3, also: 1, ways: 1, lines: 1, expect: 2, waiters: 2, tight: true},
		{evidence: 3, also: 0, ways: 1, lines: 1, expect: 2, waiters: 2, tight: true},
		{evidence: 2, also: 0, ways: 1, lines: 1, expect: 2, waiters: 2, tight: true},
		{evidence: 2, also: 0, ways: 1, lines: 1, expect: 1, waiters: 1, tight: true},
	} {
		p = &page{width: s.columns(), ascii: s.ASCII, color: s.Color, column: keyWidth}
		p.screen(r, d)
		if p.height() <= screenLines {
			break
		}
	}
	return p
}

func (p *page) screen(r *diagnose.Report, d short) {
	switch {
	case r.Primary == diagnose.Unknown || len(r.Findings) == 0:
		p.headline("CANNOT TELL", bold, unknownTitle(r))
		p.gap()
		p.doubts(r, d)
	case r.Primary == diagnose.Healthy:
		p.headline("NO PROBLEM", green, orElse(r.Findings[0].Title, "no program waits for I/O"))
		p.gap()
		p.topWaiters(r.Waiters, d)
		p.figures(r.Findings[0].Evidence, d)
		p.gap()
		p.blindness(r)
	default:
		f := &r.Findings[0]
		label := "PROBLEM"
		if f.Likely {
			label = "LIKELY"
		}
		p.headline(label, red, string(f.Cause)+": "+f.Title)
		p.gap()
		for _, line := range Wrap(sentence(r, f), p.width) {
			p.raw(span{line, plain})
		}
		p.gap()
		p.figures(f.Evidence, d)
		p.gap()
		p.fix(r, f, d)
		p.gap()
		p.blindness(r)
		p.beside(r, d)
	}
	p.checked(r, d)
	if !d.tight {
		p.gap()
	}
	p.footer(r)
}

// sentence says who waits, how long, where, and how much of that the cause is.
func sentence(r *diagnose.Report, f *diagnose.Finding) string {
	var b strings.Builder
	victim := someone(&r.Victim, "")
	own := f.Culprit.PID == r.Victim.PID && f.Culprit.Comm == r.Victim.Comm
	if victim != "" {
		b.WriteString(victim)
		if w := r.VictimWaits; w != nil && w.Share >= 0.005 {
			b.WriteString(" " + waits(w))
		} else if f.Cause == diagnose.CPUSaturated {
			b.WriteString(" waits for a processor")
		} else {
			b.WriteString(" is held up")
		}
		if own {
			b.WriteString(place(" on ", &f.Culprit))
		}
		b.WriteString(". ")
	}
	if !own || victim == "" {
		if culprit := someone(&f.Culprit, r.Victim.Cgroup); culprit != "" {
			b.WriteString("Culprit: " + culprit + place(", ", &f.Culprit) + ". ")
		} else if at := place("", &f.Culprit); at != "" {
			b.WriteString("Where: " + at + ". ")
		}
	}
	if w := r.When; w != nil && !w.Steady {
		fmt.Fprintf(&b, "Mostly from %s to %s of the time watched. ", table.Duration(w.From), table.Duration(w.To))
	}
	b.WriteString(commits(r, f))
	b.WriteString(slowest(r.Layers))
	if f.Weight > 0 {
		fmt.Fprintf(&b, "This accounts for %s; confidence %s.", weight(f), percent(f.Confidence))
	} else {
		fmt.Fprintf(&b, "Confidence %s.", percent(f.Confidence))
	}
	return b.String()
}

// someone names the processes of a culprit and their cgroup, unless that is one
// that was named before; "" without any.
func someone(c *diagnose.Culprit, named string) string {
	name := who(c)
	switch at := Middle(Escape(c.Cgroup), 48); {
	case at == "" || at == "/" || c.Cgroup == named:
		return name
	case name == "":
		return "cgroup " + at
	default:
		return name + " in cgroup " + at
	}
}

// who names the processes of a culprit, "" without any.
func who(c *diagnose.Culprit) string {
	name := Middle(Escape(c.Comm), 32)
	switch {
	case c.PID == 0:
		return name
	case name == "":
		return fmt.Sprintf("pid %d", c.PID)
	case c.Processes > 1:
		return fmt.Sprintf("%s (%d processes, pid %d waits most)", name, c.Processes, c.PID)
	}
	return fmt.Sprintf("%s (pid %d)", name, c.PID)
}

// place names a file and a device behind a word, "" without either.
func place(word string, c *diagnose.Culprit) string {
	file, device := Middle(Escape(c.File), 56), Middle(Escape(c.Device), 20)
	switch {
	case file != "" && device != "":
		return word + file + " (" + device + ")"
	case file != "" || device != "":
		return word + file + device
	}
	return ""
}

// The columns that the bar of a share takes: fewer beside long names.
const barWidth, leastBar = 20, 10

// figures are the first figures of the evidence, shares with a bar.
func (p *page) figures(all []diagnose.Evidence, d short) {
	all = all[:min(len(all), d.evidence)]
	values := make([]string, len(all))
	nameWidth, valueWidth := 0, 0
	for i, e := range all {
		values[i] = table.Value(e.Value, e.Unit)
		nameWidth, valueWidth = max(nameWidth, Width(Escape(e.Name))), max(valueWidth, Width(values[i]))
	}
	nameWidth = max(min(nameWidth, p.width-valueWidth-leastBar-6), 8)
	bar := max(min(barWidth, p.width-nameWidth-valueWidth-6), leastBar)
	for i, e := range all {
		spans := []span{{"  " + Pad(End(Escape(e.Name), nameWidth), nameWidth) + "  ", plain},
			{strings.Repeat(" ", valueWidth-Width(values[i])) + values[i], bold}}
		if e.Unit == "ratio" && e.Value >= 0 && e.Value <= 1 {
			full := int(e.Value*float64(bar) + 0.5)
			spans = append(spans, span{"  " + strings.Repeat("#", full), red}, span{strings.Repeat(".", bar-full), dim})
		}
		p.raw(spans...)
	}
}

// fix is what to do, as a command where there is one, what that gives, and how to
// see that it did.
func (p *page) fix(r *diagnose.Report, f *diagnose.Finding, d short) {
	for i, a := range f.Advice[:min(len(f.Advice), d.ways)] {
		if p.section("FIX"); i > 0 {
			p.section("or")
		}
		p.wrap(strings.TrimPrefix(Escape(a.Do), "or "), 0, 0, plain)
		if a.Command != "" { // whole, however long: it is to be copied
			p.copied(span{"  " + Escape(a.Command), bold})
		}
		if i == 0 && a.Expect != "" {
			p.section("expect")
			p.wrap(Escape(a.Expect), 0, d.expect, plain)
		}
	}
	p.section("verify")
	p.copied(span{Escape(r.LookAgain("")), plain})
}

// beside are further causes, and who else waits.
func (p *page) beside(r *diagnose.Report, d short) {
	p.section("Also")
	n := 0
	for _, c := range r.Findings[1:] {
		if n++; n > d.also {
			break
		}
		p.wrap(fmt.Sprintf("%s: %s", Escape(string(c.Cause)), weight(&c)), 0, d.lines, plain)
	}
	for i := range r.Others {
		if n++; n > d.also {
			break
		}
		o := &r.Others[i]
		cause := "its cause could not be shown"
		if o.Cause != diagnose.Unknown {
			cause = Escape(string(o.Cause))
		}
		p.wrap(fmt.Sprintf("%s %s: %s", program(&o.Waiter), awake(&o.Waiter), cause), 0, d.lines, plain)
	}
}

// topWaiters are those who wait longest where nothing is wrong.
func (p *page) topWaiters(all []diagnose.Waiter, d short) {
	if len(all) == 0 {
		return
	}
	p.section("Waits")
	for i := range all[:min(len(all), d.waiters)] {
		p.wrap(program(&all[i])+" "+waiting(&all[i]), 2, d.lines, plain)
	}
	p.gap()
}

// doubts are what stands against an answer, who waits, and what is missing.
func (p *page) doubts(r *diagnose.Report, d short) {
	p.blindness(r)
	p.section("Doubt")
	for _, doubt := range r.Doubts[:min(len(r.Doubts), d.also+1)] {
		p.wrap(Escape(doubt), 2, d.lines, plain)
	}
	if r.VictimWaits != nil && r.VictimWaits.Share >= 0.005 {
		p.section("Waits")
		p.wrap(orElse(who(&r.Victim), "the host")+" "+waits(r.VictimWaits), 0, 2, plain)
	} else {
		p.topWaiters(r.Waiters, d)
	}
	p.section("Missing")
	missing := byReason(r.CannotTell)
	for _, g := range missing[:min(len(missing), d.also+1)] {
		p.wrap(sample.Counted(len(g.causes), "cause")+": "+g.missing, 2, d.lines, plain)
	}
	if len(r.Findings) > 0 && len(r.Findings[0].Advice) > 0 {
		p.gap()
		p.fix(r, &r.Findings[0], d)
	}
	p.gap()
}

// blindness is why it is not known who waits, and what would help.
func (p *page) blindness(r *diagnose.Report) {
	p.section("Blind")
	if r.Blind != "" {
		p.wrap(Escape(r.Blind), 0, 3, plain)
	}
}

// waits is for how long a program is held up, and in what.
func waits(w *diagnose.Waiter) string {
	if in := waitsIn(w); in != "" {
		return awake(w) + " (" + in + ")"
	}
	return awake(w)
}

func awake(w *diagnose.Waiter) string { return "waits " + percent(w.Share) + " of its time awake" }

// checked says how many causes were looked at, and what could not be.
func (p *page) checked(r *diagnose.Report, d short) {
	if len(r.Excluded)+len(r.CannotTell) > 0 {
		all := len(r.Excluded) + len(r.CannotTell) + yes(r)
		said := fmt.Sprintf("%d of %d causes ruled out", len(r.Excluded), all)
		if n := len(r.CannotTell); n > 0 {
			said += fmt.Sprintf(", %d undecided", n)
		}
		p.section("Checked")
		p.wrap(said, 0, 0, plain)
	}
	if n := len(r.Gaps); n > 0 {
		p.section("Unseen")
		first, more := weightiest(r), ""
		if n > 1 {
			more = fmt.Sprintf(" (and %d more)", n-1)
		}
		tooLong := func() bool { return len(Wrap(first+more, p.room())) > d.lines }
		// which of the sources it was is less than what helps, which comes last
		if i := strings.Index(first, "not permitted"); i > 0 && tooLong() {
			first = first[i:]
		}
		if tooLong() {
			first = strings.Join(Shorten(first, p.room()-len(more), d.lines), " ")
		}
		p.wrap(first+more, 0, d.lines, plain)
		return
	}
	if n := r.Cost.LostEvents; n > 0 {
		p.section("Lost")
		p.put(span{sample.Counted(n, "event"), red})
	}
}

// weightiest is the gap that leaves most causes undecided, else the first.
func weightiest(r *diagnose.Report) string {
	most, gap := 0, Escape(r.Gaps[0])
	for _, g := range byReason(r.CannotTell) {
		if len(g.causes) > most && slices.ContainsFunc(r.Gaps, func(gap string) bool { return Escape(gap) == g.missing }) {
			most, gap = len(g.causes), g.missing
		}
	}
	return gap
}

// gap is a blank line, unless there is one.
func (p *page) gap() {
	if n := len(p.lines); n > 0 && p.lines[n-1] != "" {
		p.blank()
	}
}

// yes is how many causes were found.
func yes(r *diagnose.Report) int {
	n := 0
	for _, f := range r.Findings {
		if f.Cause != diagnose.Healthy && f.Cause != diagnose.Unknown {
			n++
		}
	}
	return n
}

func (p *page) footer(r *diagnose.Report) {
	watched := table.Duration(r.Window.Seconds)
	if !r.Window.Start.IsZero() {
		watched += " from " + r.Window.Start.UTC().Format("15:04:05Z")
	}
	said := fmt.Sprintf("watched %s, cost CPU %s, %s. More: -v", watched, table.Duration(r.Cost.CPUSeconds), table.Value(float64(r.Cost.RSSBytes), "bytes"))
	for _, line := range Wrap(said, p.width) {
		p.raw(span{line, dim})
	}
}
