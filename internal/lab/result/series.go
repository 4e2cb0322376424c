package result

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"time"

	"iocause/internal/lab"
	"iocause/internal/present/text"
)

// writeSeries writes all series as CSV (RFC 4180), a line for each value. A
// value that could not be had is empty.
func writeSeries(w io.Writer, phases []lab.PhaseResult) error {
	out := csv.NewWriter(w)
	if err := out.Write([]string{"phase", "repeat", "of", "figure", "unit", "source", "time", "seconds", "value"}); err != nil {
		return fmt.Errorf("writing the series: %w", err)
	}
	for i := range phases {
		p := &phases[i]
		for k := range p.Series {
			s := &p.Series[k]
			head := []string{text.Escape(p.Phase), strconv.Itoa(p.Repeat), text.Escape(s.Of), s.Name, s.Unit, text.Escape(s.Source)}
			for n, v := range s.Values {
				at := s.Start.Add(time.Duration(n) * s.Step)
				value := ""
				if !math.IsNaN(v) {
					value = strconv.FormatFloat(v, 'g', 8, 64)
				}
				line := append(slices.Clone(head), at.UTC().Format("2006-01-02T15:04:05.000Z"), strconv.FormatFloat(at.Sub(p.Started).Seconds(), 'f', 3, 64), value)
				if err := out.Write(line); err != nil {
					return fmt.Errorf("writing the series: %w", err)
				}
			}
		}
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("writing the series: %w", err)
	}
	return nil
}
