package frames

import (
	"bytes"
	"slices"
	"testing"
)

func three() ([]byte, []int) {
	var b []byte
	ends := []int{0}
	for _, p := range []string{"one", "", "a longer one with the mark " + mark + " in it"} {
		b = Append(b, []byte(p))
		ends = append(ends, len(b))
	}
	return b, ends
}

func read(data []byte) (got []string, lost []Loss) {
	lost = Read(data, 100, func(p []byte) { got = append(got, string(p)) })
	return got, lost
}

// A file that ends anywhere keeps its whole frames and says what is lost.
func TestCutAnywhere(t *testing.T) {
	all, ends := three()
	for n := range len(all) + 1 {
		got, lost := read(all[:n])
		whole := 0
		for whole+1 < len(ends) && ends[whole+1] <= n {
			whole++
		}
		var want []Loss
		if n > ends[whole] {
			want = []Loss{{int64(100 + ends[whole]), int64(n - ends[whole])}}
		}
		if len(got) != whole || !slices.Equal(lost, want) {
			t.Errorf("of %d bytes: %d frames, lost %v; want %d, %v", n, len(got), lost, whole, want)
		}
	}
}

// A byte that is damaged costs the frame that it is in, and no other.
func TestDamageAnywhere(t *testing.T) {
	all, ends := three()
	whole, _ := read(all)
	for n := range all {
		damaged := bytes.Clone(all)
		damaged[n] ^= 0x55
		in := 0
		for ends[in+1] <= n {
			in++
		}
		got, lost := read(damaged)
		if want := slices.Delete(slices.Clone(whole), in, in+1); !slices.Equal(got, want) {
			t.Errorf("byte %d: %q, want %q", n, got, want)
		}
		if want := []Loss{{int64(100 + ends[in]), int64(ends[in+1] - ends[in])}}; !slices.Equal(lost, want) {
			t.Errorf("byte %d: lost %v, want %v", n, lost, want)
		}
	}
}

// What is appended behind a torn end is read.
func TestAppendBehindATornEnd(t *testing.T) {
	all, ends := three()
	got, lost := read(Append(all[:ends[2]+7], []byte("after")))
	if want := []string{"one", "", "after"}; !slices.Equal(got, want) || !slices.Equal(lost, []Loss{{int64(100 + ends[2]), 7}}) {
		t.Errorf("%q, lost %v", got, lost)
	}
}

// A file that is made to take long does not.
func TestManyFalseFrames(t *testing.T) {
	one := Append(nil, nil)
	data := bytes.Repeat(one[:len(mark)+2], 1<<17)
	for pos := 0; pos+head < len(data); pos += len(mark) + 2 {
		data[pos+len(mark)] = 0xf0 // lengths of 60 KiB and more
		data[pos+len(mark)+1] = 0xf0
	}
	got, lost := read(data)
	if len(got) != 0 || len(lost) != 1 || lost[0].Bytes != int64(len(data)) {
		t.Errorf("%d frames, lost %v", len(got), lost)
	}
}

func FuzzRead(f *testing.F) {
	all, _ := three()
	f.Add(all)
	f.Add(all[3:])
	f.Fuzz(func(t *testing.T, data []byte) {
		kept := 0
		lost := Read(data, 0, func(p []byte) { kept += head + len(p) })
		for _, l := range lost {
			kept += int(l.Bytes)
		}
		if kept != len(data) {
			t.Errorf("%d of %d bytes are accounted for", kept, len(data))
		}
	})
}
