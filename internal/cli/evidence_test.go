package cli

import (
	"testing"
)

// Every piece of evidence has a name of its own and a command that shows it;
// what is observed has a turn of its own.
func TestEvidenceIsShownByCommands(t *testing.T) {
	a := &env{}
	root := newRootCommand(a)
	names, turns := map[string]bool{}, map[int]bool{}
	for _, k := range evidenceKinds(a.host) {
		if names[k.Section] || k.Type == "" || len(k.Views) == 0 {
			t.Errorf("%+v: twice, without type or without a view", k)
		}
		names[k.Section] = true
		if (k.Observe != nil) != (k.Turn > 0) || k.Observe != nil && turns[k.Turn] {
			t.Errorf("%s: turn %d", k.Section, k.Turn)
		}
		turns[k.Turn] = true
		for _, v := range k.Views {
			c, _, err := root.Find([]string{v.Command})
			if err != nil || c.Name() != v.Command || c.Flags().Lookup("recording") == nil {
				t.Errorf("%s: no command %q with --recording: %v", k.Section, v.Command, err)
			}
		}
	}
}
