package html

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"iocause/internal/diagnose"
	"iocause/internal/table"
)

// cardEvidence is how many figures the first screen has room for.
const cardEvidence = 4

// card is the first screen: what is wrong, with whom, the figures, what to do and
// how to see that it helped.
func (d *dossier) card() {
	if d.Report == nil {
		d.put(`<section class="card unknown" id="verdict" aria-labelledby="title"><p class="badge">NOT JUDGED</p><h1 id="title">%s</h1></section>`, escape(d.Unjudged))
		return
	}
	r, f := d.Report, d.primary()
	class, badge := kindOf(r)
	d.put(`<section class="card %s" id="verdict" aria-labelledby="title">`, class)
	d.put(`<p class="badge">%s</p>`, badge)
	d.put(`<h1 id="title">%s</h1>`, escape(sentence(titleOf(r))))
	d.put(`<p class="facts">%s</p>`, strings.Join(d.facts(), " · "))
	if text := d.who(); text != "" {
		d.put(`<p class="who">%s</p>`, text)
	}
	if f == nil {
		d.put(`<p class="who">%s</p>`, escape(d.blind()))
		d.put(`</section>`)
		return
	}
	d.put(`<div class="two"><div>`)
	d.put(`<h2>What shows it</h2>`)
	d.evidence(f.Evidence, cardEvidence)
	d.put(`</div><div>`)
	d.fix(f)
	d.put(`</div></div></section>`)
}

// kindOf is which of the answers a report is, for colour and for words.
func kindOf(r *diagnose.Report) (class, badge string) {
	switch {
	case r.Primary == diagnose.Unknown || len(r.Findings) == 0:
		return "unknown", "CANNOT TELL"
	case r.Primary == diagnose.Healthy:
		return string(diagnose.Healthy), "NO PROBLEM"
	case r.Findings[0].Likely:
		return "likely", "LIKELY"
	}
	return "problem", "PROBLEM"
}

func titleOf(r *diagnose.Report) string {
	if len(r.Findings) > 0 && r.Primary != diagnose.Unknown {
		return cmp.Or(r.Findings[0].Title, r.Title)
	}
	return cmp.Or(r.Title, "too little was measured to name a cause or to rule all of them out")
}

// sentence begins with a capital.
func sentence(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// facts are the cause, how sure it is and how much it explains.
func (d *dossier) facts() []string {
	r, f := d.Report, d.primary()
	out := []string{"<code>" + escape(string(r.Primary)) + "</code>"}
	if f != nil && r.Primary != diagnose.Unknown {
		out = append(out, "confidence <b>"+whole(f.Confidence)+"</b>")
		if f.Weight > 0 && r.Primary != diagnose.Healthy {
			out = append(out, "accounts for <b>"+whole(f.Weight)+"</b> of "+shareOf(f.WeightOf))
		}
	}
	return out
}

// shareOf is what a weight is a share of.
func shareOf(of string) string {
	switch of {
	case diagnose.OfTime:
		return "its time"
	case diagnose.InFlight:
		return "the time with I/O in flight"
	case diagnose.OfRequest:
		return "the requests"
	case diagnose.OfLog:
		return "the reported trouble"
	}
	return "the blocked time"
}

// who says in a sentence who waits, for how long, in what, and who or what is behind
// it. What is the victim's own is where it waits: the cause may be a bad disk, and
// nothing that it does.
func (d *dossier) who() string {
	r, f := d.Report, d.primary()
	culprit := diagnose.Culprit{}
	if f != nil && r.Primary != diagnose.Healthy {
		culprit = f.Culprit
	}
	own := culprit.PID == r.Victim.PID && culprit.Comm == r.Victim.Comm
	text := ""
	if victim := someone(&r.Victim, ""); victim != "" {
		text = victim + waits(r)
		if own {
			text += place(" on ", &culprit)
		}
		text += "."
		if own {
			return text
		}
	}
	if who := someone(&culprit, r.Victim.Cgroup); who != "" {
		text += " Culprit: " + who + place(", ", &culprit) + "."
	} else if at := place("", &culprit); at != "" {
		text += " Where: " + at + "."
	}
	return strings.TrimSpace(text)
}

// waits says how long the victim waits, and in what.
func waits(r *diagnose.Report) string {
	w := r.VictimWaits
	switch none := w == nil || w.Share < 0.005; {
	case none && r.Primary == diagnose.CPUSaturated:
		return " waits for a processor"
	case none:
		return " is held up"
	}
	text := fmt.Sprintf(" is blocked <b>%s</b> of its time awake", whole(w.Share))
	if len(w.In) > 0 && w.Seconds > 0 {
		text += fmt.Sprintf(", %s of that in %s", whole(w.In[0].Seconds/w.Seconds), escape(inWords(w.In[0].What)))
	}
	return text
}

// someone names the processes of a culprit and their cgroup, unless that is one that
// was named before; "" without any.
func someone(c *diagnose.Culprit, before string) string {
	name := ""
	if c.Comm != "" || c.PID != 0 {
		name = "<b>" + named(c) + "</b>"
	}
	switch at := "cgroup <bdi>" + escape(c.Cgroup) + "</bdi>"; {
	case c.Cgroup == "" || c.Cgroup == "/" || c.Cgroup == before:
		return name
	case name == "":
		return at
	default:
		return name + " in " + at
	}
}

// place names a file and a device behind a word, "" without either.
func place(word string, c *diagnose.Culprit) string {
	file, device := "<bdi>"+escape(c.File)+"</bdi>", "<bdi>"+escape(c.Device)+"</bdi>"
	switch {
	case c.File != "" && c.Device != "":
		return word + file + " (" + device + ")"
	case c.File != "":
		return word + file
	case c.Device != "":
		return word + "<b>" + device + "</b>"
	}
	return ""
}

// named is a process with its number; without one, who waits is the host.
func named(c *diagnose.Culprit) string {
	switch {
	case c.Comm != "" && c.Processes > 1:
		return fmt.Sprintf("<bdi>%s</bdi> (%d processes)", escape(c.Comm), c.Processes)
	case c.Comm != "" && c.PID != 0:
		return fmt.Sprintf("<bdi>%s</bdi> (pid %d)", escape(c.Comm), c.PID)
	case c.Comm != "":
		return "<bdi>" + escape(c.Comm) + "</bdi>"
	case c.PID != 0:
		return "process " + strconv.Itoa(c.PID)
	}
	return "the host"
}

// inWords is what a waiter is held up in, in plain words.
func inWords(what string) string {
	return cmp.Or(map[string]string{"read": "reads", "write": "writes", "sync": "fsync, fdatasync or O_SYNC", "fault": "page faults", "async": "asynchronous I/O",
		"other": "other calls", "lock": "locks", "memory": "reclaim of memory", "dirty pause": "pauses of writers"}[what], what)
}

// evidence is a list of figures; shares have a bar.
func (d *dossier) evidence(all []diagnose.Evidence, most int) {
	d.put(`<dl class="figures">`)
	for _, e := range all[:min(len(all), most)] {
		bar := ""
		if e.Unit == "ratio" && e.Value >= 0 && e.Value <= 1 {
			bar = fmt.Sprintf(`<svg class="bar" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true"><rect class="of" width="100" height="6"/><rect width="%.1f" height="6"/></svg>`, e.Value*100)
		}
		d.put(`<div><dt>%s</dt><dd><b>%s</b>%s<small>%s</small></dd></div>`, escape(e.Name), escape(table.Value(e.Value, e.Unit)), bar, escape(e.Source))
	}
	d.put(`</dl>`)
	if len(all) > most && !d.alone {
		d.put(`<p class="faint"><a href="#evidence">and %d more figures</a></p>`, len(all)-most)
	}
}

// fix is what to do, what it gives, and how to see that it did.
func (d *dossier) fix(f *diagnose.Finding) {
	if len(f.Advice) > 0 {
		d.put(`<h2>What to do</h2>`)
		a := &f.Advice[0]
		d.put(`<p class="fix" id="fix">%s</p>`, escape(sentence(a.Do)))
		if a.Command != "" {
			d.command(a.Command)
		}
		if a.Expect != "" {
			d.put(`<p class="faint">Expect: %s</p>`, escape(a.Expect))
		}
		if n := len(f.Advice) - 1; n > 0 && !d.alone {
			d.put(`<p class="faint"><a href="#advice">and %d more ways</a></p>`, n)
		}
	}
	if d.Report.Primary == diagnose.Healthy {
		return
	}
	d.put(`<h2>Verify</h2>`)
	d.command(d.Report.LookAgain(d.Asked))
	if f.Disprove != "" {
		d.put(`<p class="faint">Would be disproved by: %s</p>`, escape(f.Disprove))
	}
}

// command is a command line to copy.
func (d *dossier) command(line string) {
	d.put(`<div class="command"><pre><code>%s</code></pre><button type="button" class="copy" hidden>Copy</button></div>`, escape(line))
}

// blind is why nothing can be said.
func (d *dossier) blind() string {
	switch r := d.Report; {
	case r.Blind != "":
		return r.Blind
	case len(r.Doubts) > 0:
		return r.Doubts[0]
	case len(r.CannotTell) > 0:
		return r.CannotTell[0].Missing
	}
	return ""
}

// whole is a share that is an estimate: without decimals.
func whole(share float64) string { return strconv.FormatFloat(share*100, 'f', 0, 64) + " %" }

// seconds is a time as people read it.
func seconds(s float64) string { return table.Duration(s) }
