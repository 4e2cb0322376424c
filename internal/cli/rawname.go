package cli

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// rawName is a name of the system: any bytes. In JSON it is a string where it
// is UTF-8, and else an object with its bytes in base64, so that none is lost.
type rawName string

// MarshalJSON loses no byte.
func (n rawName) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(n)) {
		return json.Marshal(string(n))
	}
	return json.Marshal(map[string][]byte{"base64": []byte(n)})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (n *rawName) UnmarshalJSON(b []byte) error {
	var s string
	if json.Unmarshal(b, &s) == nil {
		*n = rawName(s)
		return nil
	}
	var raw struct{ Base64 []byte }
	if err := json.Unmarshal(b, &raw); err != nil {
		return fmt.Errorf("reading a name: %w", err)
	}
	*n = rawName(raw.Base64)
	return nil
}
