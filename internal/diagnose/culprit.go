package diagnose

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"iocause/internal/sample"
)

// Culprit is who and what; empty fields do not apply. Names are data from the
// system and may hold any byte: every output escapes them.
type Culprit struct {
	PID int `json:"pid,omitempty"`
	// Processes is how many of the same name and cgroup wait, for which it stands; 0 for
	// itself alone. PID is then the one that waits most.
	Processes int `json:"processes,omitempty"`

	Comm   string `json:"comm,omitempty"`
	Cgroup string `json:"cgroup,omitempty"`
	File   string `json:"file,omitempty"`
	Device string `json:"device,omitempty"`
}

// plainCulprit is a Culprit as encoding/json writes it.
type plainCulprit Culprit

// culpritJSON adds what JSON strings cannot hold: names that are not UTF-8, by
// field, in base64. In the strings these have U+FFFD for each odd byte.
type culpritJSON struct {
	plainCulprit
	// Of the cgroup's path, for those who know it by these; made anew each time.
	sample.Identity
	Raw map[string][]byte `json:"raw,omitempty"`
}

func (c *Culprit) names() map[string]*string {
	return map[string]*string{"comm": &c.Comm, "cgroup": &c.Cgroup, "file": &c.File, "device": &c.Device}
}

// MarshalJSON loses no byte of any name.
func (c Culprit) MarshalJSON() ([]byte, error) {
	out := culpritJSON{plainCulprit: plainCulprit(c), Identity: sample.IdentityOf(c.Cgroup)}
	for field, name := range c.names() {
		if !utf8.ValidString(*name) {
			if out.Raw == nil {
				out.Raw = map[string][]byte{}
			}
			out.Raw[field] = []byte(*name)
		}
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(out); err != nil {
		return nil, fmt.Errorf("encoding a culprit: %w", err)
	}
	return []byte(b.String()), nil
}

// UnmarshalJSON reverses MarshalJSON.
func (c *Culprit) UnmarshalJSON(b []byte) error {
	var in culpritJSON
	if err := json.Unmarshal(b, &in); err != nil {
		return fmt.Errorf("decoding a culprit: %w", err)
	}
	*c = Culprit(in.plainCulprit)
	for field, name := range c.names() {
		if raw, ok := in.Raw[field]; ok {
			*name = string(raw)
		}
	}
	return nil
}
