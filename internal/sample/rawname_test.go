package sample

import (
	"encoding/json"
	"testing"
)

// Names of the system may hold any byte; evidence loses none.
func TestRawName(t *testing.T) {
	for _, name := range []RawName{"", "postgres", "a\xff\xfeb", "\ufffd", "a\"b\x1b<>&\u2028", "{\"base64\":1}"} {
		b, err := json.Marshal(name)
		if err != nil {
			t.Fatal(err)
		}
		var again RawName
		if err := json.Unmarshal(b, &again); err != nil || again != name {
			t.Errorf("%q became %q in %s, %v", name, again, b, err)
		}
	}
}
