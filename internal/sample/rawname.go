package sample

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// RawName is a name of the system: any bytes. In JSON it is a string where it
// is UTF-8, and else an object with its bytes in base64, so that none is lost.
type RawName string

// MarshalJSON loses no byte.
func (n RawName) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(n)) {
		return json.Marshal(string(n))
	}
	return json.Marshal(map[string][]byte{"base64": []byte(n)})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (n *RawName) UnmarshalJSON(b []byte) error {
	var s string
	if json.Unmarshal(b, &s) == nil {
		*n = RawName(s)
		return nil
	}
	var raw struct{ Base64 []byte }
	if err := json.Unmarshal(b, &raw); err != nil {
		return fmt.Errorf("reading a name: %w", err)
	}
	*n = RawName(raw.Base64)
	return nil
}
