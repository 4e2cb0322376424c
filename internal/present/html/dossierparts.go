package html

import (
	"encoding/json"
	"fmt"
	"strings"

	"iocause/internal/diagnose"
	"iocause/internal/sample"
	"iocause/internal/table"
)

// story is the way from who waits to what is behind it, each step as wide as its
// share.
func (d *dossier) story() {
	r, f := d.Report, d.primary()
	if r == nil || f == nil || r.VictimWaits == nil || r.Primary == diagnose.Healthy {
		return
	}
	d.section("From symptom to cause")
	d.put(`<ol class="story">`)
	step := func(share float64, text string) {
		share = min(max(share, 0), 1)
		d.put(`<li><svg class="bar" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true"><rect class="of" width="100" height="6"/><rect width="%.1f" height="6"/></svg><span>%s</span></li>`, share*100, text)
	}
	w := r.VictimWaits
	step(w.Share, fmt.Sprintf("<b>%s</b> is blocked %s of its time awake: %s in all", named(&r.Victim), whole(w.Share), seconds(w.Seconds)))
	for _, in := range w.In {
		if w.Seconds > 0 && in.Seconds >= 0.05*w.Seconds {
			step(w.Share*in.Seconds/w.Seconds, fmt.Sprintf("%s of that in %s", whole(in.Seconds/w.Seconds), escape(inWords(in.What))))
		}
	}
	for i := range r.Findings {
		c := &r.Findings[i]
		kind := "contributing"
		if i == 0 {
			kind = "primary"
		}
		step(w.Share*c.Weight, fmt.Sprintf("<code>%s</code> (%s): %s accounts for %s of %s", escape(string(c.Cause)), kind, escape(c.Title), whole(c.Weight), shareOf(c.WeightOf)))
	}
	d.put(`</ol>`)
	if when := r.When; when != nil && !when.Steady && when.To > when.From {
		d.put(`<p>Most of it lies from %s to %s of the time watched (%s).</p>`, seconds(when.From), seconds(when.To), escape(when.Source))
	}
	d.end()
}

// incident says what was abnormal.
func (d *dossier) incident() {
	x := d.Incident
	if x == nil {
		return
	}
	d.section("What was abnormal")
	d.put(`<p>From %s to %s.</p>`, escape(clock(x.Start)), escape(clock(x.End)))
	d.different(x)
	d.end()
}

// abnormal are the signals that were off.
func abnormal(x *sample.Incident) table.Table {
	t := table.Table{Key: "abnormal", Title: "Signals outside their baselines", Columns: []table.Column{
		{Key: "signal", Head: "SIGNAL"}, {Key: "value", Head: "WAS"}, {Key: "normal", Head: "NORMAL (median)"}, {Key: "low", Head: "5 % BELOW"}, {Key: "high", Head: "5 % ABOVE"},
		{Key: "z", Head: "SPREADS FROM NORMAL", Unit: "count"}, {Key: "basis", Head: "NORMAL FROM"}}}
	for i := range x.Reasons {
		t.Rows = append(t.Rows, reasonCells(&x.Reasons[i]))
	}
	return t
}

func reasonCells(s *sample.Reason) []table.Cell {
	value := func(v float64) table.Cell { return table.Str(table.Value(v, s.Unit)) }
	return []table.Cell{table.Str(s.Signal), value(s.Value), value(s.Normal), value(s.Low), value(s.High), table.Num(s.Z), table.Str(s.Basis)}
}

// drawings are places that the script fills.
func (d *dossier) drawings() {
	if len(d.Sets) == 0 {
		return
	}
	for i, s := range d.Sets {
		d.section(s.Title)
		d.put(`<p class="faint">Drag over a time to zoom in, in all charts at once; double click or Esc shows all of it. By keyboard: Tab to a chart, arrow keys move, + and - zoom, Enter describes a cell of the heat map.</p>`)
		d.put(`<div class="tools" data-tools="%d" hidden></div><div class="drawings" data-set="%d"></div>`, i, i)
		d.put(`<noscript><p>The charts are drawn by a script in this page, and scripts are switched off here. All figures are in the tables below.</p></noscript>`)
		d.end()
	}
}

// flames are flame graphs of where threads spent their time.
func (d *dossier) flames() {
	if len(d.Profiles) == 0 {
		return
	}
	d.section("Where threads spent their time")
	d.put(`<p class="faint">A function is as wide as the time in it and in what it called; the outermost is at the top. Point at one for its name and time.</p>`)
	for i, p := range d.Profiles {
		d.put(`<div class="wide" tabindex="0" role="region" aria-labelledby="flames%d">`, i)
		drawFlames(d.out, p, fmt.Sprintf("flames%d", i), svgLeast, "", "")
		d.put(`</div>`)
		for _, n := range p.Notes {
			d.put(`<p class="faint">%s</p>`, escape(n))
		}
	}
	d.end()
}

// findings are all figures, ways to do something, and what else was found.
func (d *dossier) findings() {
	r, f := d.Report, d.primary()
	if r == nil {
		return
	}
	if f != nil {
		d.section("All evidence")
		d.put(`<div id="evidence">`)
		d.evidence(f.Evidence, len(f.Evidence))
		d.put(`</div>`)
		if len(f.Advice) > 0 {
			d.put(`<h3 id="advice">What to do</h3><ol>`)
			for _, a := range f.Advice {
				d.put(`<li>%s`, escape(sentence(a.Do)))
				if a.Command != "" {
					d.command(a.Command)
				}
				d.put(`<br><span class="faint">Expect: %s</span></li>`, escape(a.Expect))
			}
			d.put(`</ol>`)
		}
		d.end()
	}
	if len(r.Findings) > 1 || len(r.Others) > 0 {
		d.section("Also found")
		d.put(`<ul>`)
		for i := 1; i < len(r.Findings); i++ {
			c := &r.Findings[i]
			d.put(`<li><code>%s</code>: %s; %s of %s, confidence %s</li>`, escape(string(c.Cause)), escape(c.Title), whole(c.Weight), shareOf(c.WeightOf), whole(c.Confidence))
		}
		for i := range r.Others {
			o := &r.Others[i]
			d.put(`<li><b>%s</b> waits too, %s of its time awake: <code>%s</code> %s</li>`, named(&o.Waiter.Who), whole(o.Waiter.Share), escape(string(o.Cause)), escape(o.Title))
		}
		d.put(`</ul>`)
		d.end()
	}
	d.section("Causes that were ruled out")
	all := r.Excluded
	if f != nil && len(f.Excluded) >= len(all) {
		all = f.Excluded
	}
	d.put(`<p>%s examined and ruled out.</p><dl class="plain">`, sample.Counted(len(all), "cause"))
	for _, e := range all {
		d.put(`<dt><code>%s</code></dt><dd>%s</dd>`, escape(string(e.Cause)), escape(e.Why))
	}
	d.put(`</dl>`)
	d.end()
}

// unseen is what could not be judged or observed, and why.
func (d *dossier) unseen() {
	d.section("What was not observed, and why")
	n := len(d.Notes)
	d.put(`<ul>`)
	item := func(format string, args ...any) {
		n++
		d.put(`<li>`+format+`</li>`, args...)
	}
	for _, note := range d.Notes {
		d.put(`<li>%s</li>`, escape(note))
	}
	if r := d.Report; r != nil {
		if r.Blind != "" {
			item("%s", escape(r.Blind))
		}
		for _, x := range r.Doubts {
			item("In doubt: %s", escape(x))
		}
		for _, x := range r.CannotTell {
			item("<code>%s</code> could not be judged: %s", escape(string(x.Cause)), escape(x.Missing))
		}
		for _, x := range r.Gaps {
			item("%s", escape(x))
		}
		if c := &r.Cost; c.LostEvents > 0 {
			item("%s were seen but could not be kept", sample.Counted(c.LostEvents, "event"))
		}
	}
	d.put(`</ul>`)
	if n == 0 {
		d.put(`<p>Everything requested was observed.</p>`)
	}
	d.end()
}

// machine is where this was, and what looking cost.
func (d *dossier) machine() {
	if d.Report == nil {
		return
	}
	d.section("Machine and cost")
	c := &d.Report.Cost
	d.put(`<p>Watching took %s of processor time, BPF programs %s of that of the watched programs, and at most %s of memory.</p>`,
		seconds(c.CPUSeconds), seconds(c.BPFSeconds), table.Value(float64(c.RSSBytes), "bytes"))
	if text, err := json.MarshalIndent(d.Report.Host, "", "  "); err == nil && d.Report.Host != nil {
		d.put(`<details><summary>Fingerprint of the machine</summary><pre class="json">%s</pre></details>`, escapeLines(string(text)))
	}
	d.end()
}

// raw is the document that 'iocause diagnose --format json' prints, for programs.
func (d *dossier) raw(text string) {
	if d.Report == nil {
		return
	}
	d.section("For programs")
	d.put(`<p>The finding as <code>iocause diagnose --format json</code> prints it is in this page, in the element <code>#report</code>. <button type="button" id="download" hidden>Download JSON</button></p>`)
	d.put(`<script type="application/json" id="report">%s</script>`, text)
	d.end()
}

// escapeLines is escape, but for the ends of lines.
func escapeLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = escape(lines[i])
	}
	return strings.Join(lines, "\n")
}
