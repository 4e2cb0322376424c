package sysstat

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"strings"

	"iocause/internal/parse/lines"
)

// markup is a record of sadf -x that is being read: all lines from <timestamp ...> to
// </timestamp>.
type markup struct {
	begun bool
	text  strings.Builder
	ended bool // outside a record: what follows is the frame around them
}

const endOfRecord = "</timestamp>"

// isMarkup tells the line that a record of sadf -x begins with.
func isMarkup(text string) bool {
	return strings.HasPrefix(text, "<timestamp ") && strings.Contains(text, `interval="`)
}

// xmlLine takes a line of a record or of the frame around the records.
func (r *reader) xmlLine(text string, n int) (lines.Use, error) {
	m := &r.markup
	if isMarkup(text) {
		cut := m.begun && !m.ended
		m.begun, m.ended = true, false
		m.text.Reset()
		if cut {
			_, _ = r.addMarkup(text, n) // the line is at fault already
			return lines.Broken, errors.New("the record before this one has no end")
		}
		return r.addMarkup(text, n)
	}
	switch {
	case text[0] != '<':
		return lines.Foreign, nil
	case m.ended:
		return lines.Skipped, nil
	}
	return r.addMarkup(text, n)
}

// addMarkup takes a line into the record, and reads it at its end.
func (r *reader) addMarkup(text string, n int) (lines.Use, error) {
	m := &r.markup
	if m.text.Len()+len(text) > mostJSON {
		m.ended = true
		return lines.Broken, fmt.Errorf("the record is longer than %d bytes", mostJSON)
	}
	m.text.WriteString(text)
	m.text.WriteByte('\n')
	if !strings.Contains(text, endOfRecord) {
		return lines.Used, nil
	}
	m.ended = true
	var whole element
	if err := xml.Unmarshal([]byte(m.text.String()), &whole); err != nil {
		return lines.Broken, fmt.Errorf("reading the XML of the record: %w", err)
	}
	members, err := whole.members()
	if err != nil {
		return lines.Broken, fmt.Errorf("reading the XML of the record: %w", err)
	}
	if err := r.members(members, n); err != nil {
		return lines.Broken, fmt.Errorf("reading the XML of the record: %w", err)
	}
	return lines.Used, nil
}

// element is any element of a record.
type element struct {
	XMLName  xml.Name
	Attrs    []xml.Attr `xml:",any,attr"`
	Text     string     `xml:",chardata"`
	Elements []element  `xml:",any"`
}

// fields are an element's attributes, and those of its elements that hold only a
// figure, as <memory> has them; by the names that sadf -j gives them.
func (e *element) fields() map[string]any {
	out := map[string]any{}
	add := func(name, value string) {
		if v, ok := lines.Number(strings.TrimSpace(value)); ok {
			out[name] = v
		} else {
			out[name] = value
		}
	}
	for _, a := range e.Attrs {
		name := a.Name.Local
		switch {
		case name == "number" && e.XMLName.Local == "cpu":
			out["cpu"] = a.Value
		case name == "dev" && e.XMLName.Local == "disk-device":
			out["disk-device"] = a.Value
		default:
			add(name, a.Value)
		}
	}
	for i := range e.Elements {
		if c := &e.Elements[i]; len(c.Attrs) == 0 && len(c.Elements) == 0 {
			add(c.XMLName.Local, c.Text)
		}
	}
	return out
}

// members are what sadf -j has in a record in place of this one.
func (e *element) members() (map[string]json.RawMessage, error) {
	out := map[string]any{"timestamp": e.fields()}
	var walk func(all []element)
	walk = func(all []element) {
		for i := range all {
			c := &all[i]
			name := c.XMLName.Local
			if name == "psi" {
				walk(c.Elements)
				continue
			}
			rows := []any{c.fields()}
			if len(c.Elements) > 0 && len(c.Elements[0].Attrs) > 0 {
				rows = nil
				for k := range c.Elements {
					rows = append(rows, c.Elements[k].fields())
				}
			}
			out[name] = rows
		}
	}
	walk(e.Elements)
	raw := map[string]json.RawMessage{}
	for name, v := range out {
		b, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		raw[name] = b
	}
	return raw, nil
}

// processorsOf is the number of processors that the head of sadf -x tells.
func processorsOf(before string) float64 {
	const name = "<number-of-cpus>"
	i := strings.LastIndex(before, name)
	if i < 0 {
		return 0
	}
	n, _, _ := strings.Cut(before[i+len(name):], "<")
	v, ok := lines.Number(n)
	if !ok || v < 0 {
		return 0
	}
	return min(v, 1<<16)
}
