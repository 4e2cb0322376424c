package html

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf16"

	"iocause/internal/diagnose"
	"iocause/internal/picture"
	"iocause/third_party/uplot"
)

//go:embed dossier/page.css
var dossierStyle string

// The page's script, in the order in which its parts are put together.
var (
	//go:embed dossier/base.js
	baseScript string
	//go:embed dossier/save.js
	saveScript string
	//go:embed dossier/chart.js
	chartScript string
	//go:embed dossier/heat.js
	heatScript string
	//go:embed dossier/draw.js
	drawScript string
	//go:embed dossier/main.js
	mainScript string
)

// DossierMark is in every page that WriteDossier wrote, within its first kilobyte:
// who writes a page anew knows by it that the old one may go.
const DossierMark = `<meta name="generator" content="iocause report">`

const uplotVersion = "1.6.32"

// chartsScript is uPlot with the licence that must go with it.
func chartsScript() string { return "/*\n" + uplot.Licence + "\n*/\n" + uplot.Script }

// dossierScript is what the page runs besides.
func dossierScript() string {
	return "(() => {\n'use strict';\n" + baseScript + saveScript + chartScript + heatScript + drawScript + mainScript + "})();\n"
}

// dossierStyles are all styles of the page.
func dossierStyles() string { return uplot.Style + "\n" + dossierStyle }

// hashOf is how a Content-Security-Policy names a script or a style.
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// policy allows what the page itself brings, to the byte, and no other thing: no
// network, no other script, nothing that a name could smuggle in.
func policy() string {
	return fmt.Sprintf("default-src 'none'; base-uri 'none'; form-action 'none'; script-src %s %s; style-src %s",
		hashOf(chartsScript()), hashOf(dossierScript()), hashOf(dossierStyles()))
}

// WriteDossier writes a diagnosis as one page that needs nothing but itself.
func WriteDossier(w io.Writer, p *picture.Page) error {
	d := &dossier{Page: p, out: bufio.NewWriter(w)}
	if err := d.write(); err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	if err := d.out.Flush(); err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	return nil
}

// dossier is a page that is being written.
type dossier struct {
	*picture.Page
	out      *bufio.Writer
	sections []string // the headings so far
	alone    bool     // the card stands alone: there is nothing for its links to lead to
	tables   int
}

// put writes a line; its arguments are escaped already.
func (d *dossier) put(format string, args ...any) { fmt.Fprintf(d.out, format+"\n", args...) }

func (d *dossier) write() error {
	pictures, err := packed(d.Sets)
	if err != nil {
		return err
	}
	raw, err := asciiJSON(d.Report)
	if err != nil {
		return err
	}
	parts := d.parts(raw)
	title := d.title()
	d.put(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
%s
<meta http-equiv="Content-Security-Policy" content="%s">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>%s</title>
<style>%s</style>
</head>
<body>`, DossierMark, policy(), escape(title), dossierStyles())
	d.put(`<a class="skip" href="#more">Skip to the drawings and tables</a>`)
	d.head()
	d.put(`<main>`)
	d.card()
	d.put(`<nav id="more" aria-label="Parts of this page" tabindex="-1"><ul>`)
	for i, heading := range d.sections {
		d.put(`<li><a href="#s%d">%s</a></li>`, i, escape(heading))
	}
	d.put(`</ul></nav>`)
	d.put("%s", parts)
	d.put(`</main>
<footer><p>Made by %s. This page holds names of processes, files and cgroups, and loads nothing. Charts: uPlot %s, Copyright (c) 2022 Leon Sorokin, MIT licence (in the page's source).</p></footer>
<p id="said" class="quiet" aria-live="polite"></p>
<script type="application/octet-stream" id="pictures">%s</script>
<script>%s</script>
<script>%s</script>
</body>
</html>`, escape(d.Program), uplotVersion, pictures, chartsScript(), dossierScript())
	return nil
}

// parts are what follows the first screen.
func (d *dossier) parts(raw string) string {
	var b bytes.Buffer
	page := d.out
	d.out = bufio.NewWriter(&b)
	d.story()
	d.incident()
	d.drawings()
	d.flames()
	d.allTables()
	d.findings()
	d.unseen()
	d.machine()
	d.raw(raw)
	_ = d.out.Flush() // a buffer takes everything
	d.out = page
	return b.String()
}

// asciiJSON is a document in which no character can end the element that it is in,
// act or hide: all but printable ASCII is written as \u escapes, and so are <, >
// and &.
func asciiJSON(v any) (string, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, r := range string(raw) {
		switch {
		case r < 0x7f:
			b.WriteRune(r)
		case r > 0xffff:
			hi, lo := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, hi, lo)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String(), nil
}

// title is the page's name, in a tab and in a list of files.
func (d *dossier) title() string {
	var parts []string
	if d.Report != nil {
		parts = append(parts, string(d.Report.Primary))
	}
	if d.Host != "" {
		parts = append(parts, d.Host)
	}
	return strings.Join(append(parts, "iocause"), " - ")
}

// head says what this is a report of.
func (d *dossier) head() {
	d.put(`<header><p><b>iocause</b> report of <bdi>%s</bdi></p><p class="faint">%s</p></header>`, escape(d.Of), escape(strings.Join(d.when(), " · ")))
}

// when are the facts of the page's first lines.
func (d *dossier) when() []string {
	var parts []string
	if d.Host != "" {
		parts = append(parts, d.Host)
	}
	if d.Kernel != "" {
		parts = append(parts, "Linux "+d.Kernel)
	}
	if d.Report != nil {
		parts = append(parts, clock(d.Report.Window.Start), "watched "+seconds(d.Report.Window.Seconds))
	}
	if d.Asked != "" {
		parts = append(parts, "limited to "+d.Asked)
	}
	return parts
}

// clock is an instant with its zone.
func clock(t time.Time) string {
	if _, offset := t.Zone(); offset == 0 {
		return t.UTC().Format("2006-01-02 15:04:05 UTC")
	}
	return t.Format("2006-01-02 15:04:05 -0700")
}

// section begins a part of the page that its contents lead to.
func (d *dossier) section(heading string) {
	id := len(d.sections)
	d.sections = append(d.sections, heading)
	d.put(`<section aria-labelledby="s%d"><h2 id="s%d" tabindex="-1">%s</h2>`, id, id, escape(heading))
}

func (d *dossier) end() { d.put(`</section>`) }

// packed is what the drawings are made from, as text: JSON, gzip, base64.
func packed(sets []*picture.Set) (string, error) {
	if sets == nil {
		sets = []*picture.Set{}
	}
	shown := make([]picture.Set, len(sets))
	for i, s := range sets {
		shown[i] = harmless(s)
	}
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return "", err
	}
	if err := json.NewEncoder(z).Encode(shown); err != nil {
		return "", err
	}
	if err := z.Close(); err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(b.Bytes()), nil
}

// harmless is a set with names written out as they are shown.
func harmless(s *picture.Set) picture.Set {
	out := *s
	out.Title = plain(s.Title)
	out.Names, out.Marks, out.Heats = slices.Clone(s.Names), slices.Clone(s.Marks), slices.Clone(s.Heats)
	for i := range out.Names {
		out.Names[i] = plain(out.Names[i])
	}
	for i := range out.Marks {
		out.Marks[i].Name = plain(out.Marks[i].Name)
	}
	for i := range out.Heats {
		h := &out.Heats[i]
		h.Device, h.Source = plain(h.Device), plain(h.Source)
	}
	out.Uses = map[string]*picture.Use{}
	for device, u := range s.Uses {
		out.Uses[plain(device)] = u
	}
	out.Charts = slices.Clone(s.Charts)
	for i := range out.Charts {
		c := &out.Charts[i]
		c.Key, c.Group, c.Title, c.Source = plain(c.Key), plain(c.Group), plain(c.Title), plain(c.Source)
		c.Lines = slices.Clone(c.Lines)
		for k := range c.Lines {
			c.Lines[k].Name = plain(c.Lines[k].Name)
		}
	}
	return out
}

// primary is the finding that the page is about, nil for none.
func (d *dossier) primary() *diagnose.Finding {
	if d.Report == nil || len(d.Report.Findings) == 0 {
		return nil
	}
	return &d.Report.Findings[0]
}
