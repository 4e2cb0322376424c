package lines

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestThousands(t *testing.T) {
	for in, want := range map[string]float64{
		"1,234,567": 1234567, "1.234.567": 1234567, "1,234.5": 1234.5, "1.234,5": 1234.5, "1,5": 1.5, "1.5": 1.5, "12": 12, "1,234,567.8": 1234567.8,
	} {
		if got, ok := Number(in); !ok || got != want {
			t.Errorf("%s is read as %g, %v", in, got, ok)
		}
	}
}

// A command ends where the shell ends it: options of the next one are not its own.
func TestCommand(t *testing.T) {
	for line, want := range map[string]string{
		"# vmstat 1 5; iostat -xyz 1 5": "vmstat 1 5", "$ vmstat && free -y": "vmstat ", "$ vmstat 2 | tail -n 20": "vmstat 2 ", "$ cd /tmp; vmstat 3": "vmstat 3",
	} {
		got := Command(line+"\nmore", "vmstat")
		if _, y := Option(got, 'y'); got != want || y {
			t.Errorf("the command of %q is %q, want %q", line, got, want)
		}
	}
	if s := Interval(Command("$ iostat -x | tail -n 20", "iostat")); s != 0 {
		t.Errorf("an interval of %g s from another command", s)
	}
}

// TestRow holds the reader of whole rows against that of single figures.
func TestRow(t *testing.T) {
	words := []string{"0", "0.00", "12", "3.5", "99999.99", "123456789012345", "1234567890123456", "1.2.3", "1,5", ".5", "5.", "-1", "1k", "nan", ""}
	rows, random := 0, rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		n := 1 + random.IntN(4)
		line := "sda"
		for range n + random.IntN(2) {
			line += strings.Repeat(" ", 1+random.IntN(3)) + words[random.IntN(len(words))]
		}
		figures := make([]float64, n)
		name, ok := Row(line, figures)
		if !ok {
			continue
		}
		rows++
		fields := Fields(line, nil)
		if want := Numbers(fields[1:]); name != fields[0] || !slices.Equal(figures, want) {
			t.Fatalf("%q is read as %q and %v, want %v", line, name, figures, want)
		}
	}
	if rows < 1000 {
		t.Errorf("%d of 20000 lines were rows", rows)
	}
	if _, ok := Row("vda  4612.43    0.07 12", make([]float64, 3)); !ok {
		t.Error("a plain row is not read")
	}
}
