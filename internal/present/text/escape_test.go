package text

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestEscape(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"java", "java"},
		{"/data/größe/数据", "/data/größe/数据"},
		{`dev-disk-by\x2duuid.swap`, `dev-disk-by\x2duuid.swap`},
		{"a\x1b[31mred", `a\x1b[31mred`},
		{"two\nlines\ttab\rback", `two\nlines\ttab\rback`},
		{"nul\x00del\x7f", `nul\x00del\x7f`},
		{"c1\u009bcsi", `c1\u009bcsi`},
		{"bad\xff\xfeend", `bad\xff\xfeend`},
		{"cut\xe2\x80", `cut\xe2\x80`},
		{"gpj.\u202eexe", `gpj.\u202eexe`},
		{"iso\u2066late", `iso\u2066late`},
		{"zero\u200bwidth\ufeff", `zero\u200bwidth\ufeff`},
		{"line\u2028sep", `line\u2028sep`},
		{"nbsp\u00a0", `nbsp\u00a0`},
		{"blank\u3164", `blank\u3164`},
		{"tag\U000e0041", `tag\U000e0041`},
		{"e\u0301", "e\u0301"},
		{"\u0301x", `\u0301x`},
		{"z\u0301\u0301\u0301\u0301", "z\u0301\u0301" + `\u0301\u0301`},
		{"\ufffd", "\ufffd"}, // a real replacement character is a glyph
		{"", ""},
	} {
		if got := Escape(c.in); got != c.want {
			t.Errorf("Escape(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

func FuzzEscape(f *testing.F) {
	for _, s := range []string{"plain", "\x1b]0;t\a", "\xff\u202e\n", "e\u0301\u0301\u0301", "\u0301", "数\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := Escape(s)
		if !utf8.ValidString(got) {
			t.Fatalf("Escape(%q) = %q: not UTF-8", s, got)
		}
		for _, r := range got {
			if unicode.In(r, unicode.C, unicode.Zl, unicode.Zp) || unicode.IsSpace(r) && r != ' ' {
				t.Fatalf("Escape(%q) = %q: lets %U through", s, got, r)
			}
		}
		if again := Escape(got); again != got {
			t.Fatalf("Escape(%q) = %q, and again %q", s, got, again)
		}
		if len(s) > 0 && got == "" {
			t.Fatalf("Escape(%q) hides everything", s)
		}
	})
}

func TestWidth(t *testing.T) {
	for s, want := range map[string]int{
		"": 0, "abc": 3, "größe": 5, "数据": 4, "e\u0301": 1, "한": 2, "…": 1, "😀": 2, "·": 1,
	} {
		if got := Width(s); got != want {
			t.Errorf("Width(%q) = %d, want %d", s, got, want)
		}
	}
}

func TestMiddleKeepsBothEnds(t *testing.T) {
	for _, c := range []struct {
		in    string
		width int
		want  string
	}{
		{"/data/big.bin", 20, "/data/big.bin"},
		{"/var/lib/postgresql/base/16384/2619", 20, "/var/lib/…16384/2619"},
		{"数据数据数据数据", 7, "数…数据"},
		{"abc", 1, "a"},
	} {
		got := Middle(c.in, c.width)
		if got != c.want || Width(got) > c.width {
			t.Errorf("Middle(%q, %d) = %q, want %q", c.in, c.width, got, c.want)
		}
	}
}

func FuzzWrap(f *testing.F) {
	f.Add("one two  three", 5)
	f.Add(strings.Repeat("数", 50), 3)
	f.Add("e\u0301\u0301 x", 2)
	f.Fuzz(func(t *testing.T, s string, width int) {
		width = 2 + int(uint(width)%200)
		s = Escape(s)
		lines := Wrap(s, width)
		for _, line := range lines {
			if Width(line) > width {
				t.Fatalf("Wrap(%q, %d): %q is %d wide", s, width, line, Width(line))
			}
		}
		strip := func(s string) string { return strings.ReplaceAll(s, " ", "") }
		if strip(strings.Join(lines, "")) != strip(s) {
			t.Fatalf("Wrap(%q, %d) = %q: not the same text", s, width, lines)
		}
		for _, cut := range []string{Middle(s, width), End(s, width)} {
			if Width(cut) > width {
				t.Fatalf("%q cut to %d is %q", s, width, cut)
			}
		}
	})
}
