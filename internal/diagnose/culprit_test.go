package diagnose

import (
	"encoding/json"
	"testing"
	"unicode/utf8"
)

func TestCulpritLosesNoByteInJSON(t *testing.T) {
	for _, want := range []Culprit{
		{},
		{PID: 7, Comm: "plain <&>", File: "/größe\ufffd"},
		{Comm: "\xff\x1b[2J", Cgroup: "/a\xc3", File: "/\x80\n", Device: "\xfe"},
	} {
		b, err := json.Marshal(want)
		if err != nil || !utf8.Valid(b) {
			t.Fatalf("%+v: %q, %v", want, b, err)
		}
		var got Culprit
		if err := json.Unmarshal(b, &got); err != nil || got != want {
			t.Errorf("%+v came back as %+v, %v, by way of %s", want, got, err, b)
		}
	}
	b, err := json.Marshal(Culprit{PID: 7, Comm: "x"})
	if want := `{"pid":7,"comm":"x"}`; err != nil || string(b) != want {
		t.Errorf("%s, %v; want %s", b, err, want)
	}
}
