package diagnose

import (
	"fmt"
	"strings"

	"iocause/internal/sample"
)

// idOf is the ID of a figure by the words that it has: what is no letter or digit
// becomes one hyphen.
func idOf(name string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }), "-")
}

// as gives a figure an ID of its own: where its words hold what differs from case to
// case, or were changed after they had been published.
func (e Evidence) as(id string) Evidence {
	e.ID = id
	return e
}

// identify gives an ID to each figure that has none.
func identify(findings []Finding) {
	for i := range findings {
		for k := range findings[i].Evidence {
			if e := &findings[i].Evidence[k]; e.ID == "" {
				e.ID = idOf(e.Name)
			}
		}
	}
}

// onProcessors is the figure of processor time as a share of one processor: where it is
// more than all of one, its name says how many there are, so it needs an ID of its own.
func (c *Case) onProcessors(name string, share float64) Evidence {
	e := c.figure(name, share, "ratio", sample.ProcUser)
	if n, ok := c.gauge(sample.CPUCount); ok && share > 1.0005 {
		e.Name = fmt.Sprintf("%s (100 %%: one of %.0f)", name, n)
	}
	return e
}
