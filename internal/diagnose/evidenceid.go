package diagnose

import "strings"

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
