package query

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"iocause/internal/store/series"
	"iocause/internal/table"
)

// lineName is a series as PromQL writes it.
func lineName(l *series.Line) string {
	var b strings.Builder
	b.WriteString(l.Name)
	for i, x := range l.Labels {
		b.WriteString(map[bool]string{true: "{", false: ","}[i == 0])
		b.WriteString(x.Name + "=" + strconv.Quote(x.Value))
	}
	if len(l.Labels) > 0 {
		b.WriteByte('}')
	}
	if b.Len() == 0 {
		return "{}"
	}
	return b.String()
}

// Table is a result for people: the value of each line or, over a time, its
// extremes, its mean, its last value and its course.
func Table(r *series.Result, q *series.Query) *table.Table {
	t := &table.Table{Key: "series", Whole: true, Columns: []table.Column{{Key: "series", Head: "SERIES", Flex: true, Least: 20}}}
	number := func(v float64) table.Cell {
		if math.IsNaN(v) {
			return table.Str("NaN")
		}
		return table.Str(engineering(v))
	}
	if q.Step == 0 {
		t.Columns = append(t.Columns, table.Column{Key: "value", Head: "VALUE"})
		t.Title = "at " + q.To.Format("2006-01-02 15:04:05 -0700")
		for i := range r.Lines {
			t.Rows = append(t.Rows, []table.Cell{table.Str(lineName(&r.Lines[i])), number(r.Lines[i].Points[len(r.Lines[i].Points)-1].Value)})
		}
		return t
	}
	t.Title = fmt.Sprintf("%s to %s, a point every %v", q.From.Format("2006-01-02 15:04:05"), q.To.Format("2006-01-02 15:04:05 -0700"), q.Step)
	for _, head := range []string{"MIN", "MEAN", "MAX", "LAST"} {
		t.Columns = append(t.Columns, table.Column{Key: strings.ToLower(head), Head: head})
	}
	const width = 24
	t.Columns = append(t.Columns, table.Column{Key: "course", Head: "COURSE", Drop: 1})
	for i := range r.Lines {
		l := &r.Lines[i]
		low, high, sum := math.Inf(1), math.Inf(-1), 0.0
		for _, p := range l.Points {
			low, high, sum = min(low, p.Value), max(high, p.Value), sum+p.Value
		}
		t.Rows = append(t.Rows, []table.Cell{table.Str(lineName(l)), number(low), number(sum / float64(len(l.Points))), number(high),
			number(l.Points[len(l.Points)-1].Value), table.Str(table.Spark(course(l, q), width))})
	}
	return t
}

// engineering writes a number with four digits and the letter for its power of
// a thousand: 19.37G.
func engineering(v float64) string {
	if v == 0 || math.IsInf(v, 0) {
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	power := int(math.Floor(math.Log10(math.Abs(v)) / 3))
	letters := []string{"n", "u", "m", "", "k", "M", "G", "T", "P"}
	if power < -3 || power > 5 {
		return strconv.FormatFloat(v, 'g', 4, 64)
	}
	return strconv.FormatFloat(v/math.Pow(1000, float64(power)), 'g', 4, 64) + letters[power+3]
}

// course is a line with NaN where it has no point.
func course(l *series.Line, q *series.Query) []float64 {
	out := make([]float64, int(q.To.Sub(q.From)/q.Step)+1)
	for i := range out {
		out[i] = math.NaN()
	}
	for _, p := range l.Points {
		if i := int(p.At.Sub(q.From) / q.Step); i >= 0 && i < len(out) {
			out[i] = p.Value
		}
	}
	return out
}

// NamesTable has a row for each series, with what help says of it.
func NamesTable(names []string, help func(name string) string) *table.Table {
	t := &table.Table{Key: "names", Whole: true, Columns: []table.Column{
		{Key: "name", Head: "NAME"}, {Key: "what", Head: "WHAT IT IS", Flex: true, Words: true, Least: 30},
	}}
	for _, n := range names {
		base, _, _ := strings.Cut(n, ":")
		t.Rows = append(t.Rows, []table.Cell{table.Str(n), table.Str(help(base))})
	}
	return t
}
