package live

// column is a place on the axis of time: the strips from one to before
// another.
type column struct{ from, to int }

// columns are at most so many: of what goes on the newest windows up to the
// one that is shown, each a column; of what was kept all of it.
func (m *Model) columns(width int) []column {
	end := m.index(m.at) + 1
	if m.o.Past == "" {
		var all []column
		for i := max(0, end-width); i < end; i++ {
			all = append(all, column{i, i + 1})
		}
		return all
	}
	n := len(m.strips)
	each := max(1, width/n) // columns of a window
	all := make([]column, min(n*each, width))
	for i := range all {
		if n <= width {
			all[i] = column{i / each, i/each + 1}
		} else {
			all[i] = column{i * n / width, (i + 1) * n / width}
		}
	}
	return all
}

// course is a figure over the columns: the mean of what is known of each.
func (m *Model) course(v func(*strip) float64, width int) []float64 {
	var all []float64
	for _, c := range m.columns(width) {
		sum, n := 0.0, 0.0
		for i := c.from; i < c.to; i++ {
			if x := v(&m.strips[i]); x == x {
				sum, n = sum+x, n+1
			}
		}
		all = append(all, sum/n) // NaN of nothing
	}
	return all
}
