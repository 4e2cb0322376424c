package host

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Difference is one setting that two fingerprints do not share. "" is absent.
type Difference struct {
	Setting string `json:"setting"`
	A       string `json:"a"`
	B       string `json:"b"`
}

// Words are both values for people.
func (d *Difference) Words() (a, b string) {
	word := func(s string) string {
		if s == "" {
			return "absent"
		}
		return s
	}
	return word(d.A), word(d.B)
}

// Differences are the settings in which two fingerprints differ, by name.
func Differences(a, b *Fingerprint) ([]Difference, error) {
	one, err := Settings(a)
	if err != nil {
		return nil, err
	}
	other, err := Settings(b)
	if err != nil {
		return nil, err
	}
	all := maps.Clone(one)
	maps.Copy(all, other)
	var out []Difference
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if one[name] != other[name] {
			out = append(out, Difference{name, one[name], other[name]})
		}
	}
	return out, nil
}

// Settings are the leaves of a fingerprint's JSON, by their path; devices go
// by their names and file systems by where they are mounted.
func Settings(f *Fingerprint) (map[string]string, error) {
	b, err := json.Marshal(f)
	if err != nil {
		return nil, fmt.Errorf("reading a fingerprint: %w", err)
	}
	var tree any
	if err := json.Unmarshal(b, &tree); err != nil {
		return nil, fmt.Errorf("reading a fingerprint: %w", err)
	}
	out := map[string]string{}
	leaves(out, "", tree)
	pair(out, "vm.dirty_", "bytes", "ratio")
	pair(out, "vm.dirty_background_", "bytes", "ratio")
	return out, nil
}

// pair makes one setting of two that stand for each other: whoever sets one
// zeroes the other (mm/page-writeback.c: dirty_bytes_handler and its kin), so
// that two hosts would differ in both. Its value is the one that holds.
func pair(out map[string]string, prefix string, names ...string) {
	holds := ""
	zeros := true // all are known to be
	for _, name := range names {
		v, known := out[prefix+name]
		delete(out, prefix+name)
		if zeros = zeros && known && v == "0"; known && v != "0" {
			holds = prefix + name + "=" + v
		}
	}
	if zeros { // a ratio may be 0, bytes may not
		holds = prefix + names[len(names)-1] + "=0"
	}
	if holds != "" {
		out[prefix+"{"+strings.Join(names, ",")+"}"] = holds
	}
}

func leaves(out map[string]string, at string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for key, below := range v {
			leaves(out, strings.TrimPrefix(at+"."+key, "."), below)
		}
	case []any:
		var plain []string
		for _, item := range v {
			if m, ok := item.(map[string]any); ok {
				name, ok := m["name"]
				if !ok {
					name = m["mount"]
				}
				leaves(out, fmt.Sprintf("%s[%v]", at, name), m)
				continue
			}
			plain = append(plain, fmt.Sprint(item))
		}
		if len(plain) > 0 {
			out[at] = strings.Join(plain, ",")
		}
	case float64:
		out[at] = fmt.Sprintf("%.0f", v) // the fingerprint holds whole numbers only
	default:
		out[at] = fmt.Sprint(v)
	}
}
