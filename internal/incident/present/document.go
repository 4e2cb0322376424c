package present

import (
	"encoding/json"

	"iocause/internal/incident"
	"iocause/internal/store/incidents"
)

// Section is a piece of evidence: JSON as it is, else only how much.
type Section struct {
	Name  string          `json:"name"`
	Type  string          `json:"type"`
	Bytes int             `json:"bytes"`
	Data  json.RawMessage `json:"data,omitempty"`
}

// Document is an incident for programs.
type Document struct {
	Version int `json:"version"`
	incidents.Meta
	Finding  json.RawMessage    `json:"finding"` // null while not judged
	Series   []incidents.Series `json:"series"`
	Sections []Section          `json:"sections"`
	Lost     []string           `json:"lost"`
	// Shown is what commands show of evidence that is not JSON, by command.
	Shown map[string]json.RawMessage `json:"shown,omitempty"`
}

// DocumentOf is an incident without what commands show of it.
func DocumentOf(x *incidents.Incident) Document {
	d := Document{Version: 1, Meta: x.Meta, Finding: x.Finding, Series: append([]incidents.Series{}, x.Series...), Sections: []Section{}, Lost: append([]string{}, x.Lost...)}
	for _, s := range x.Sections {
		one := Section{Name: s.Name, Type: s.Type, Bytes: len(s.Data)}
		if s.Type == incident.TypeJSON && json.Valid(s.Data) {
			one.Data = s.Data
		}
		d.Sections = append(d.Sections, one)
	}
	return d
}
