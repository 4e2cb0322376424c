package lab

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// check says what is not right about a verdict, and apart from it what is not
// right about the culprit. Patterns are expanded first.
func (x *Expect) check(v *Verdict, expand func(string) string) (wrong, culpritWrong []string) {
	if !slices.Contains(x.Primary, v.Primary) {
		wrong = append(wrong, fmt.Sprintf("primary is %s, not %s", v.Primary, strings.Join(x.Primary, " or ")))
	}
	found := map[string]bool{}
	for _, f := range v.Findings {
		if f.Answer == "yes" {
			found[f.Cause] = true
		}
	}
	for _, id := range x.Not {
		if found[id] || v.Primary == id {
			wrong = append(wrong, id+" was found")
		}
	}
	for _, id := range x.Contributing {
		if !found[id] {
			wrong = append(wrong, id+" was not found")
		}
	}
	var culprit map[string]any // without a finding, nobody
	if len(v.Findings) > 0 {
		culprit = v.Findings[0].Culprit
	}
	for _, field := range []string{"comm", "cgroup", "file", "device"} {
		pattern, ok := x.Culprit[field]
		if !ok {
			continue
		}
		got, _ := culprit[field].(string) // a missing one is ""
		if match, err := regexp.MatchString(expand(pattern), got); err != nil || !match {
			culpritWrong = append(culpritWrong, fmt.Sprintf("culprit's %s is %q, not like %q", field, got, expand(pattern)))
		}
	}
	return wrong, culpritWrong
}
