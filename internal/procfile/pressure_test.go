package procfile

import (
	"testing"

	"iocause/internal/source/proc/proctest"
)

func TestPressure(t *testing.T) {
	p, err := ParsePressure(proctest.Fixture(t, "pressure-5.10-cpu"))
	if err != nil || *p.Some != 42 || p.Full != nil {
		t.Errorf("%+v, %v", p, err)
	}
	if p, err = ParsePressure(proctest.Fixture(t, "pressure-6.18")); err != nil || p.Some == nil || p.Full == nil || *p.Full > *p.Some {
		t.Errorf("%+v, %v", p, err)
	}
	_, err = ParsePressure(nil)
	proctest.WantLine(t, err, 1)
	_, err = ParsePressure([]byte("some total=1\nfull avg10=0.00"))
	proctest.WantLine(t, err, 2)
	_, err = ParsePressure([]byte("some total=-1"))
	proctest.WantLine(t, err, 1)
}

func FuzzPressure(f *testing.F) {
	proctest.Seeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		if p, err := ParsePressure(b); err == nil && p.Some == nil {
			t.Error("no error and no figure")
		}
	})
}
