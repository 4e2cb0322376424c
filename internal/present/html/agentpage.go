package html

import (
	"bufio"
	"bytes"
	_ "embed"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"iocause/internal/diagnose"
	"iocause/internal/picture"
	"iocause/internal/sample"
	"iocause/internal/table"
	"iocause/third_party/uplot"
)

// The page of the agent: it is put together here, and its parts are asked for anew
// while somebody looks (docs/agent.md).

//go:embed dossier/agent.js
var agentScript string

//go:embed dossier/agent.css
var agentStyle string

// AgentPolicy is the Content-Security-Policy of the agent's page: what the agent
// itself serves, and nothing else.
const AgentPolicy = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; frame-src 'self'"

// AgentCharts is the drawing library, as the page loads it.
func AgentCharts() string { return chartsScript() }

// AgentScript is what the page runs besides the charts.
func AgentScript() string {
	return "(() => {\n'use strict';\n" + baseScript + saveScript + chartScript + drawScript + agentScript + "})();\n"
}

// AgentStyle is how it looks.
func AgentStyle() string { return uplot.Style + "\n" + dossierStyle + agentStyle }

// Now is what the page says of this moment.
type Now struct {
	Report    *diagnose.Report // of the last look; nil while nobody has looked
	Unjudged  string           // why, then
	Looked    string           // when that was, in words
	GoesOn    int              // the number of the incident that is going on, 0 for none
	Resources []table.Table
	Notes     []string // what is missing of it, and why
}

// Kept is an incident as it is listed.
type Kept struct {
	Number  int
	What    sample.Incident
	Open    bool
	Cause   string // "" while not judged
	Title   string
	Culprit string
	Notes   []string // what could not be gathered
	Broken  string   // why it cannot be read; all but the number is empty then
}

// AgentPage is the whole page, as it is without scripts.
type AgentPage struct {
	Program, Host, Kernel string
	Zone                  string // of all times
	Now                   Now
	Incidents             []Kept
	Older                 int // incidents that are not listed
}

// WriteAgentPage writes the page.
func WriteAgentPage(w io.Writer, p *AgentPage) error {
	d := &dossier{out: bufio.NewWriter(w), alone: true, Page: &picture.Page{}}
	d.put(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>%s</title>
<link rel="stylesheet" href="/page/style.css">
<script src="/page/charts.js" defer></script>
<script src="/page/script.js" defer></script>
</head>
<body>
<a class="skip" href="#drawings">Skip to the drawings</a>
<header><p><b>iocause</b> on <bdi>%s</bdi></p><p class="faint">Linux %s · %s · times of %s</p><p id="state" class="faint" role="status"></p></header>
<main>
<div id="now">`, escape(plain(p.Host)+" - iocause"), escape(p.Host), escape(p.Kernel), escape(p.Program), escape(p.Zone))
	d.now(&p.Now)
	d.put(`</div>
<section aria-labelledby="h-drawings"><h2 id="h-drawings">Time series</h2>
<div id="span" class="tools" role="group" aria-label="Time that is shown" hidden></div>
<p id="shown" class="faint" hidden></p>
<p class="faint">Drag over a time to choose it, in all charts at once; double click or Esc shows all of it. By keyboard: Tab to a chart, arrow keys move, + and - choose. Incidents are shaded.</p>
<noscript><p>The charts are drawn by a script, and scripts are switched off here. <code>iocause query</code> and <code>iocause top</code> have the figures.</p></noscript>
<div id="drawings" tabindex="-1"></div></section>
<section aria-labelledby="h-incidents"><h2 id="h-incidents">Incidents</h2><div id="incidents">`)
	d.incidents(p.Incidents, p.Older)
	d.put(`</div></section>
<section aria-labelledby="h-who"><h2 id="h-who">Who did it</h2><div id="who"></div></section>
</main>
<dialog id="report" aria-labelledby="report-title"><header><h2 id="report-title"></h2><a id="report-tab" target="_blank" rel="noreferrer">Open in a tab</a><button type="button" id="report-close">Close</button></header><p id="report-wait" role="status"></p><div id="report-place"></div></dialog>
<footer><p>%s. For scrapers: <a href="/metrics">/metrics</a>. Charts: uPlot %s, Copyright (c) 2022 Leon Sorokin, MIT licence (in <a href="/page/charts.js">its source</a>).</p></footer>
<p id="said" class="quiet" aria-live="polite"></p>
</body>
</html>`, escape(p.Program), uplotVersion)
	if err := d.out.Flush(); err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	return nil
}

// fragment is a part of the page by itself.
func fragment(write func(*dossier)) string {
	var b bytes.Buffer
	d := &dossier{out: bufio.NewWriter(&b), alone: true, Page: &picture.Page{}}
	write(d)
	_ = d.out.Flush() // a buffer takes everything
	return b.String()
}

// NowPart is the part that says what is now.
func NowPart(n *Now) string { return fragment(func(d *dossier) { d.now(n) }) }

// IncidentsPart lists incidents.
func IncidentsPart(all []Kept, older int) string {
	return fragment(func(d *dossier) { d.incidents(all, older) })
}

// TablesPart is tables, and what is missing of them.
func TablesPart(all []table.Table, notes []string) string {
	return fragment(func(d *dossier) {
		d.tables = 1000 // other ids than those of the page's first tables
		for i := range all {
			d.table(&all[i])
		}
		d.notes(notes)
	})
}

func (d *dossier) notes(notes []string) {
	for _, n := range notes {
		d.put(`<p class="faint">%s</p>`, escape(n))
	}
}

// now is the verdict and the resources; each part that has an id is put in the
// place of the former by itself.
func (d *dossier) now(n *Now) {
	d.Report, d.Unjudged = n.Report, n.Unjudged
	d.put(`<div id="now-open">`)
	if n.GoesOn > 0 {
		d.put(`<p class="open">Incident <a href="#incident-%d">%d</a> is going on.</p>`, n.GoesOn, n.GoesOn)
	}
	d.put(`</div><div id="now-verdict">`)
	d.card()
	d.put(`</div><p id="now-looked" class="faint">%s</p><div id="now-resources">`, escape(n.Looked))
	for i := range n.Resources {
		d.table(&n.Resources[i])
	}
	d.notes(n.Notes)
	d.put(`</div>`)
}

// incidents are those that were kept, with what was different in each.
func (d *dossier) incidents(all []Kept, older int) {
	if len(all) == 0 {
		d.put(`<p>None is kept.</p>`)
		return
	}
	d.tables = 2000
	for i := range all {
		d.kept(&all[i])
	}
	if older > 0 {
		d.put(`<p class="faint">%s: <code>iocause incidents --top 0</code></p>`, sample.Counted(older, "older incident"))
	}
}

func (d *dossier) kept(k *Kept) {
	if k.Broken != "" {
		d.put(`<p class="incident">%d cannot be read: %s</p>`, k.Number, escape(k.Broken))
		return
	}
	x := &k.What
	lasted := table.Duration(x.End.Sub(x.Start).Round(time.Second).Seconds())
	if k.Open {
		lasted += ", open"
	}
	cause := "not judged"
	if k.Cause != "" {
		cause = "<code>" + escape(k.Cause) + "</code>"
	}
	if k.Culprit != "" {
		cause += " <bdi>" + escape(k.Culprit) + "</bdi>"
	}
	d.put(`<details class="incident" id="incident-%d"><summary><b>%d</b> %s <span class="faint">%s</span> %s</summary>`,
		k.Number, k.Number, escape(x.Start.Format("2006-01-02 15:04:05")), escape(lasted), cause)
	if k.Title != "" {
		d.put(`<p>%s</p>`, escape(sentence(k.Title)))
	}
	d.put(`<p class="tools"><a class="report" href="/page/report?incident=%d" data-title="Report of incident %d">Report</a> <button type="button" class="seek" data-from="%s" data-to="%s" hidden>Show its time above</button></p>`,
		k.Number, k.Number, unix(x.Start), unix(x.End))
	d.different(x)
	d.notes(k.Notes)
	d.put(`</details>`)
}

// different is what was not as it is at such a time.
func (d *dossier) different(x *sample.Incident) {
	if len(x.Limits) > 0 {
		d.put(`<ul>`)
		for _, l := range x.Limits {
			d.put(`<li>%s</li>`, escape(strings.TrimSpace(l.Kind+": "+l.Of+" "+l.What)))
		}
		d.put(`</ul>`)
	}
	if len(x.Reasons) > 0 {
		t := abnormal(x)
		d.table(&t)
	}
}

func unix(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) }

// Inert is a set with names written out as they are shown, for JSON that a page
// reads.
func Inert(s *picture.Set) picture.Set { return harmless(s) }
