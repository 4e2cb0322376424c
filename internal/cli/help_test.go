package cli

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// Every command has help and examples, every text in help/ is some command's,
// and nothing that was to be filled in is left.
func TestHelpTexts(t *testing.T) {
	files, err := helpTexts.ReadDir("help")
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]bool{}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		said[c.Long] = true
		for _, name := range strings.Fields(`{intervals} {snapshots} {times} {recording {signals} {kinds} {tools} {states}`) {
			if strings.Contains(c.Long, name) {
				t.Errorf("%s: %s is not filled in", c.CommandPath(), name)
			}
		}
		for _, below := range c.Commands() {
			walk(below)
		}
	}
	walk(Root())
	for _, f := range files {
		name := strings.TrimSuffix(f.Name(), ".txt")
		begin, _, _ := strings.Cut(helpOf(name), "{")
		used := false
		for long := range said {
			used = used || strings.HasPrefix(long, begin)
		}
		if !used {
			t.Errorf("help/%s is of no command", f.Name())
		}
	}
}
