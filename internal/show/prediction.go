package show

import (
	"fmt"
	"io"
	"math"
	"strings"

	"iocause/internal/present/text"
	"iocause/internal/table"
	"iocause/internal/tool/predict"
)

// slowest is the title of the drawings of read times.
const slowest = "Time within which 99 % of the read calls end, by memory"

// Prediction writes what other sizes of memory would do: in words, as a drawing and
// as a table.
func Prediction(out io.Writer, p *predict.Prediction, style text.Style) error {
	if err := say(out, p.Advice, style); err != nil {
		return err
	}
	if p.Curve == nil {
		return nil
	}
	fmt.Fprintln(out)
	hits, times := text.Chart{Title: "Share of pages that are hits, by memory", Unit: "ratio"}, text.Chart{Title: slowest, Unit: "seconds"}
	for i := range p.Curve.Points {
		x := &p.Curve.Points[i]
		label := ""
		if i%4 == 0 {
			label = strings.ReplaceAll(table.Value(float64(x.Memory), "bytes"), " ", "")
		}
		hits.Bars = append(hits.Bars, text.Bar{Label: label, Lo: x.Low, Hi: x.High, Value: x.Hit})
		bar := text.Bar{Label: label, Lo: math.NaN(), Hi: math.NaN(), Value: math.NaN()}
		if x.P99 != nil {
			bar.Lo, bar.Hi, bar.Value = x.P99.Low, x.P99.High, x.P99.Value
		}
		times.Bars = append(times.Bars, bar)
	}
	for _, chart := range []*text.Chart{&hits, &times} {
		if chart == &times && !p.Timed() {
			continue
		}
		if err := text.WriteChart(out, chart, style); err != nil {
			return err
		}
	}
	for _, t := range []table.Table{p.Table(), p.FilesTable()} {
		fmt.Fprintln(out)
		if err := text.WriteTable(out, &t, style); err != nil {
			return err
		}
	}
	if len(p.Options) == 0 {
		return nil
	}
	fmt.Fprintln(out)
	return say(out, ways(p), style)
}

// ways are the other ways to keep data in the cache, as sentences.
func ways(p *predict.Prediction) []string {
	var out []string
	for i := range p.Options {
		out = append(out, fmt.Sprintf("%d. %s", i+1, p.Options[i].String()))
	}
	if len(out) > 0 {
		out = append([]string{"Other ways to keep the data in the cache:"}, out...)
	}
	return out
}

// Writes writes when writers are paused.
func Writes(out io.Writer, w *predict.Writes, style text.Style) error {
	if err := say(out, w.Advice, style); err != nil {
		return err
	}
	fmt.Fprintln(out)
	t := w.Table()
	return text.WriteTable(out, &t, style)
}

// say writes sentences.
func say(out io.Writer, sentences []string, style text.Style) error {
	for _, said := range sentences {
		for _, l := range text.Wrap(text.Escape(said), style.Width) {
			if _, err := fmt.Fprintln(out, l); err != nil {
				return fmt.Errorf("writing the prediction: %w", err)
			}
		}
	}
	return nil
}
