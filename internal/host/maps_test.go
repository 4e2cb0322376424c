package host

import (
	"slices"
	"testing"
)

func TestMappings(t *testing.T) {
	got := slices.Collect(Mappings([]byte(`00400000-0041a000 r-xp 00001000 fe:01 1234                     /opt/a b (deleted)
7f0000000000-7f0000001000 rw-p 00000000 00:00 0 
7f0000002000-7f0000003000 r--s 00000000 00:2a 18446744073709551615      /x\012y

1-2 r-xp 0 0:0
2-1 r-xp 0 0:0 0
1-2 r-xp 0 0:0 -1
x
`)))
	want := []Mapping{
		{Start: 0x400000, End: 0x41a000, Offset: 0x1000, Code: true, Dev: MakeDev(0xfe, 1), Inode: 1234, Path: "/opt/a b (deleted)"},
		{Start: 0x7f0000000000, End: 0x7f0000001000, Writable: true},
		{Start: 0x7f0000002000, End: 0x7f0000003000, Dev: MakeDev(0, 0x2a), Inode: 1<<64 - 1, Path: "/x\ny"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}
