package parse

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"iocause/internal/sample"
)

// What a log, a cluster or a numbering puts before every line does not change
// what is read; the time in it, where the tool prints none, is used.
func TestPrefixes(t *testing.T) {
	muchText(t)
	for file, plain := range fixtures(t) {
		rows := strings.Split(strings.TrimSuffix(plain, "\n"), "\n")
		if len(rows) < 3 || strings.Contains(plain, "\r") {
			continue
		}
		for name, prefix := range map[string]func(i int) string{
			"syslog":  func(int) string { return "Mar  3 04:05:06 web1 monitor[812]: " },
			"journal": func(int) string { return "2024-03-04T05:06:07+0000 web1 monitor[812]: " },
			"iso":     func(int) string { return "2024-03-04T05:06:07.123456Z " },
			"clock":   func(int) string { return "[05:06:07] " },
			"cri":     func(int) string { return "2024-03-04T05:06:07.123456789Z stdout F " },
			"kubectl": func(int) string { return "[pod/db-0/main] 2024-03-04T05:06:07.123456789Z " },
			"compose": func(int) string { return "db_1  | " },
			"pdsh":    func(int) string { return "web1: " },
			"cat -n":  func(i int) string { return fmt.Sprintf("%6d\t", i+1) },
			"grep -n": func(i int) string { return fmt.Sprintf("%d:", i+1) },
			"bar":     func(int) string { return "| " },
		} {
			want := figures(t, plain)
			got := figures(t, disguised(rows, prefix))
			if got != want {
				t.Errorf("%s, %s:\n%.600s\nwant\n%.600s", file, name, got, want)
			}
		}
	}
}

func disguised(rows []string, prefix func(i int) string) string {
	out := slices.Clone(rows)
	for i, s := range out {
		out[i] = strings.TrimRight(prefix(i)+s, " ")
	}
	return strings.Join(out, "\n") + "\n"
}

// figures are the values of a text, without where and when they stand.
func figures(t *testing.T, s string) string {
	t.Helper()
	var out []string
	for v := range Values([]*Text{read(t, s)}) {
		out = append(out, fmt.Sprintf("%s %s %s %d %s %.6g", v.Tool, v.Metric, v.Device, v.PID, v.Class, v.Value))
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}

// The interval of a report that tells no times is that of its lines.
func TestTimeOfPrefix(t *testing.T) {
	head := "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n"
	row := " 1  0      0 4096 4096 4096 0 0 8 0 1 1 10 0 90 0 0"
	text := ""
	for _, s := range strings.Split(strings.TrimSuffix(head, "\n"), "\n") {
		text += "2024-03-04T05:06:00Z " + s + "\n"
	}
	for i := range 5 {
		text += fmt.Sprintf("2024-03-04T05:06:%02dZ %s\n", 10*i, row)
	}
	got := read(t, text)
	if len(got.Blocks) != 1 || got.Blocks[0].Seconds != 40 || got.Outside != 0 {
		t.Fatalf("%+v", got.Blocks)
	}
}

// Outputs of several machines are a case each, also where their lines are mixed.
func TestHosts(t *testing.T) {
	const table = "Device: r/s w/s rkB/s wkB/s avgqu-sz await svctm %util\nsda 100.00 0.00 400.00 0.00 1.00 10.00 1.00 100.00\n"
	const other = "Device: r/s w/s rkB/s wkB/s avgqu-sz await svctm %util\nsda 1.00 0.00 4.00 0.00 0.00 0.10 0.10 0.01\n"
	mixed := ""
	for i, s := range strings.Split(strings.TrimSpace(table), "\n") {
		mixed += "db-1: " + s + "\n" + "db-2: " + strings.Split(strings.TrimSpace(other), "\n")[i] + "\n"
	}
	for name, text := range map[string]string{
		"mixed":   mixed,
		"prompts": "root@db1:~# iostat -x 1\n" + table + "\nroot@db2:~# iostat -x 1\n" + other,
		"banners": "Linux 5.4.0 (db1) 	01/01/2024 	_x86_64_	(4 CPU)\n\n" + table + "\n" + table + "\nLinux 5.4.0 (db2) 	01/01/2024 	_x86_64_	(4 CPU)\n\n" + other + "\n" + other,
		"ansible": "db1 | CHANGED | rc=0 >>\n" + table + "\ndb2 | CHANGED | rc=0 >>\n" + other,
	} {
		cases, _ := Cases([]*Text{read(t, text)}, false)
		if len(cases) != 2 || cases[0].Host == "" || cases[1].Host == "" || cases[0].Host == cases[1].Host {
			t.Errorf("%s: %d cases: %+v", name, len(cases), cases)
			continue
		}
		w := cases[0].Window
		if reads, _ := w.Sum(sample.DiskReads, sample.Entity{Device: "sda"}); reads/w.Seconds() != 100 {
			t.Errorf("%s: the first machine reads %g a second", name, reads/w.Seconds())
		}
	}
}

// Rows that begin alike are not taken for what stands before lines.
func TestNoPrefix(t *testing.T) {
	vm := "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n"
	for i := range 6 {
		vm += fmt.Sprintf(" %d  %d      0 4096 4096 4096 0 0 8 0 1 1 10 0 90 0 0\n", i+1, i+2)
	}
	if got := read(t, vm); len(got.Blocks) != 1 || got.Blocks[0].Used != 7 {
		t.Errorf("%+v", got.Blocks[0])
	}
}

// Lines that were left out do not end a table.
func TestOmitted(t *testing.T) {
	const head = "Device: r/s w/s rkB/s wkB/s avgqu-sz await svctm %util\n"
	for _, mark := range []string{"...", "[...]", "(snip)", "<snip>", "\u2026", "... snip ...", "---- cut ----", "etc."} {
		got := read(t, head+mark+"\nsda 100.00 0.00 400.00 0.00 1.00 10.00 1.00 100.00\n")
		if len(got.Blocks) != 1 || got.Blocks[0].Used != 2 || len(got.Blocks[0].Notes) == 0 {
			t.Errorf("%q: %+v", mark, got.Blocks)
		}
	}
	for _, s := range []string{"sda", "see", "0", "cut -d' ' -f1"} {
		if omitted(s) {
			t.Errorf("%q is taken for lines left out", s)
		}
	}
}
