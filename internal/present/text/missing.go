package text

import (
	"fmt"
	"strings"

	"iocause/internal/diagnose"
	"iocause/internal/table"
)

// unknown is the report of a window that allows no answer: what is missing
// comes first.
func (p *page) unknown(r *diagnose.Report, d detail) {
	p.headline("CANNOT TELL", bold, unknownTitle(r))
	p.raw(span{fmt.Sprintf("%s · watched %s", diagnose.Unknown, table.Duration(r.Window.Seconds)), plain})
	p.blank()
	d.missing += 2 // it is what this report is about
	p.section("In doubt")
	for _, doubt := range r.Doubts[:min(len(r.Doubts), d.missing)] {
		p.wrap(Escape(doubt), 2, 0, plain)
	}
	if len(r.Findings) == 0 {
		if r.Victim == (diagnose.Culprit{}) {
			p.waiters(r.Waiters, d)
		}
		p.victim(r)
		p.others(r.Others, d)
	}
	p.notSeen(r, d)
	if len(r.Findings) > 0 {
		p.finding(r, &r.Findings[0], d)
		return
	}
	p.excluded(r.Excluded, d, false)
}

func unknownTitle(r *diagnose.Report) string {
	title := "too little was measured to name a cause or to rule all of them out"
	if r.Victim != (diagnose.Culprit{}) {
		title = "something waits, but no known cause could be shown"
	}
	return orElse(r.Title, title)
}

// notSeen says what could not be judged, and what could not be observed.
func (p *page) notSeen(r *diagnose.Report, d detail) {
	p.section("Blind")
	if r.Blind != "" {
		p.wrap(Escape(r.Blind), 0, 0, plain)
	}
	p.section("Cannot tell")
	groups := byReason(r.CannotTell)
	for i, g := range groups {
		if i == d.missing {
			p.more(len(groups)-i, "reason")
			break
		}
		p.wrap(strings.Join(g.causes, ", ")+": "+g.missing, 2, 0, plain)
	}
	p.section("Not observed")
	for i, gap := range r.Gaps {
		if i == d.missing {
			p.more(len(r.Gaps)-i, "gap")
			break
		}
		p.wrap(Escape(gap), 2, 0, plain)
	}
}

// reason is what is missing, and the causes that miss it.
type reason struct {
	missing string
	causes  []string
}

// byReason puts causes that miss the same thing together, in their order.
func byReason(all []diagnose.Missing) []reason {
	var groups []reason
	index := map[string]int{}
	for _, m := range all {
		i, ok := index[m.Missing]
		if !ok {
			i = len(groups)
			index[m.Missing] = i
			groups = append(groups, reason{missing: Escape(m.Missing)})
		}
		groups[i].causes = append(groups[i].causes, Escape(string(m.Cause)))
	}
	return groups
}

// cost is the last line: what observing took.
func (p *page) cost(c *diagnose.Cost) {
	p.section("Cost")
	said := fmt.Sprintf("CPU %s, BPF %s, memory %s, ",
		table.Duration(c.CPUSeconds), table.Duration(c.BPFSeconds), table.Value(float64(c.RSSBytes), "bytes"))
	if c.LostEvents == 0 {
		p.put(span{said + "no events lost", dim})
		return
	}
	p.put(span{said, dim}, span{lostSaid(c.LostEvents), red})
}

func lostSaid(n uint64) string {
	if n == 1 {
		return "1 event lost"
	}
	return table.Value(float64(n), "count") + " events lost"
}
