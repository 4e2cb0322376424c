package cli

import (
	"os"
	"strings"
	"testing"

	"iocause/internal/present/text"
	"iocause/internal/tool/burst"
)

// The bursts of a trace are found, and a hostile name fits.
func TestBurstsOfATraceFit(t *testing.T) {
	data, err := os.ReadFile(recorded(t, 2000))
	if err != nil {
		t.Fatal(err)
	}
	bursts, intervals := 0, 0
	err = burst.Play(data, burst.Filter{}, 0, 1, func(b *burst.Burst) error {
		if bursts++; b.Ops < 50 || b.Disk != "sdx" || !strings.HasPrefix(b.Who(1), hostileName) {
			t.Errorf("%+v of %q", b, b.Who(1))
		}
		return nil
	}, func(in *burst.Interval) error {
		intervals++
		for _, table := range in.Tables() {
			var b strings.Builder
			if err := text.WriteTable(&b, &table, text.Style{Width: 80}); err != nil {
				return err
			}
			harmless(t, b.String())
			for line := range strings.Lines(b.String()) {
				if text.Width(strings.TrimSuffix(line, "\n")) > 80 {
					t.Errorf("more than 80 columns: %q", line)
				}
			}
		}
		return nil
	})
	if err != nil || bursts != 20 || intervals != 1 {
		t.Errorf("%d bursts in %d intervals, %v", bursts, intervals, err)
	}
}
