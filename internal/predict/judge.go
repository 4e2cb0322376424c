package predict

// Judgement is what a curve says of one size.
type Judgement struct {
	Knee   *Point // the smallest that saves nearly all that the largest does; nil where that is next to nothing
	Ends   bool   // larger ones than Knee save nothing more
	Enough *Point // the smallest that does no harm
}

// Harmless is the share of what is asked for that may come from disk in addition
// before it is called harm.
const Harmless = 0.01

// worth is the share of disk reads that must be saved to be worth saying.
const worth = 0.05

// Judge looks for the sizes that matter, beside the one of now.
func (c *Curve) Judge(now int64) Judgement {
	var j Judgement
	if len(c.Points) == 0 {
		return j
	}
	last := &c.Points[len(c.Points)-1]
	if last.Memory > now && last.Saved.Value >= worth {
		for i := range c.Points {
			if x := &c.Points[i]; x.Memory > now && last.Saved.Value-x.Saved.Value <= 0.02 {
				j.Knee, j.Ends = x, x != last
				break
			}
		}
	}
	for i := range c.Points {
		if x := &c.Points[i]; x.Memory <= now && c.Now-x.Hit <= Harmless {
			j.Enough = x
			break
		}
	}
	return j
}

// At is the point of a size, nil where there is none.
func (c *Curve) At(memory int64) *Point {
	for i := range c.Points {
		if c.Points[i].Memory == memory {
			return &c.Points[i]
		}
	}
	return nil
}

// Uses is how many times watched pages were asked for by calls and by faults, by
// those in question.
func (t *Trace) Uses() (reads, faults int) {
	for i := range t.Events {
		switch e := &t.Events[i]; {
		case !e.Asked:
		case e.Kind == Read:
			reads++
		case e.Kind == Faulted:
			faults++
		}
	}
	return reads, faults
}

// left is how many of the watched pages are cached at the end.
func (t *Trace) left() (n int) {
	in := make([]bool, t.Pages)
	for i := range t.Events {
		e := &t.Events[i]
		in[e.Page] = e.Kind != Evicted && e.Kind != Dropped
	}
	for _, is := range in {
		if is {
			n++
		}
	}
	return n
}

// Dropped is the share of the watched pages that left the cache otherwise than by
// reclaim, and did not come back.
func (t *Trace) Dropped() float64 {
	gone := make([]bool, t.Pages)
	for i := range t.Events {
		e := &t.Events[i]
		gone[e.Page] = e.Kind == Dropped
	}
	n := 0.0
	for _, is := range gone {
		if is {
			n++
		}
	}
	return n / float64(max(1, t.Pages))
}
