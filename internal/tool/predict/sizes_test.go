package predict

import "testing"

// What --memory asks for is a size, or more or less than there is.
func TestSizes(t *testing.T) {
	got, err := Sizes("2G, +50%,+512M,-1G,-25%")
	want := []Ask{{Bytes: 2 << 30}, {Share: 0.5, Beside: true}, {Bytes: 512 << 20, Beside: true}, {Bytes: -1 << 30, Beside: true}, {Share: -0.25, Beside: true}}
	if err != nil || len(got) != len(want) {
		t.Fatalf("%v, %v", got, err)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%+v, want %+v", got[i], want[i])
		}
	}
	for _, bad := range []string{"x", "2G,", "-100%", "+x%", "0", "--1G", "nan%"} {
		if got, err := Sizes(bad); err == nil {
			t.Errorf("%q: %v", bad, got)
		}
	}
}
