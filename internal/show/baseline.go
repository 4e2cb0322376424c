package show

import (
	"fmt"
	"io"
	"math"
	"time"

	"iocause/internal/detect"
	"iocause/internal/present/text"
	"iocause/internal/tool/baseline"
)

// outside is how many spreads an hour's median is off for the drawing to mark it.
const outside = 4

// Baseline draws the hours of a day of a signal beside what is normal then.
func Baseline(out io.Writer, s *detect.Signal, hours []baseline.Hour, day time.Time, style text.Style) error {
	c := text.Chart{Title: fmt.Sprintf("%s, %s: %s", s.Name, day.Format("Mon 2006-01-02 -0700"), s.Help), Unit: s.Unit}
	known, normal := false, false
	for i, h := range hours {
		b := text.Bar{Lo: orNaN(h.Normal.P05), Hi: orNaN(h.Normal.P95), Value: orNaN(h.Was.P50), Outside: h.Z != nil && *h.Z >= outside}
		if i%3 == 0 {
			b.Label = h.Start.Format("15")
		}
		known, normal = known || h.Was.P50 != nil, normal || h.Normal.Hours > 0
		c.Bars = append(c.Bars, b)
	}
	if err := text.WriteChart(out, &c, style); err != nil {
		return err
	}
	fmt.Fprintln(out)
	t := baseline.Below(hours, known, normal)
	return text.WriteTable(out, &t, style)
}

func orNaN(v *float64) float64 {
	if v == nil {
		return math.NaN()
	}
	return *v
}
