package fiojson

import (
	"os"
	"strings"
	"testing"

	"iocause/internal/require"
)

func TestParse(t *testing.T) {
	b, err := os.ReadFile("testdata/fio-3.33.json")
	require.NoError(t, err)
	out, err := Parse(strings.NewReader("fio: a warning\n" + string(b)))
	require.NoError(t, err)
	if out.Version != "fio-3.33" || len(out.Jobs) != 2 || out.Jobs[0].Name != "a" || len(out.Jobs[0].Sides) != 1 {
		t.Fatalf("%+v", out)
	}
	s := out.Jobs[0].Sides[0]
	if s.Direction != "read" || s.Requests != 890 || s.Bytes != 7290880 || s.Seconds != 2.016 || s.PerSecond != 441.468254 || s.BytesPerSec != 3616507 {
		t.Errorf("%+v", s)
	}
	if p, ok := s.Complete.At(0.99); !ok || p != 0.029229056 || s.Complete.Max != 0.067108032 || s.Complete.N != 890 || s.Submit.N != 0 {
		t.Errorf("%+v", s)
	}
	if _, ok := s.Submit.At(0.99); ok {
		t.Error("a percentile of nothing")
	}
}

func TestParseRefuses(t *testing.T) {
	for _, text := range []string{"", "fio: no such job", "{", "{}", `{"fio version":"fio-3","jobs":[{"read":7}]}`} {
		if out, err := Parse(strings.NewReader(text)); err == nil {
			t.Errorf("%q gave %+v", text, out)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`{"fio version":"x","jobs":[{"jobname":"j","read":{"total_ios":1,"clat_ns":{"percentile":{"99.0":1}}}}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		out, err := Parse(strings.NewReader(text))
		if (out == nil) == (err == nil) {
			t.Errorf("%v, %v", out, err)
		}
	})
}
