package show

import (
	"fmt"
	"io"
	"strings"

	"iocause/internal/present/text"
	"iocause/internal/table"
	"iocause/internal/tool/predict"
)

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
	chart := text.Chart{Title: "Share of pages that are hits, by memory", Unit: "ratio"}
	for i := range p.Curve.Points {
		x := &p.Curve.Points[i]
		label := ""
		if i%4 == 0 {
			label = strings.ReplaceAll(table.Value(float64(x.Memory), "bytes"), " ", "")
		}
		chart.Bars = append(chart.Bars, text.Bar{Label: label, Lo: x.Low, Hi: x.High, Value: x.Hit})
	}
	if err := text.WriteChart(out, &chart, style); err != nil {
		return err
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
