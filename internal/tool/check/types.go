package check

import (
	"fmt"

	"iocause/internal/bpf"
	"iocause/internal/diagnose"
	"iocause/internal/sample"
	"iocause/internal/source"
)

// Foresee says what would be observed on a kernel of which only the type information is
// at hand (bpf.ReadTypes). The files of /proc and /sys are taken to be there, and the
// kernel to permit what its types show.
func Foresee(file string, sources []source.Entry) (*Found, error) {
	types, err := bpf.ReadTypes(file)
	if err != nil {
		return nil, fmt.Errorf("checking by types: %w", err)
	}
	c, has := &Found{}, map[sample.Metric]bool{}
	var all []source.Status
	for _, entry := range sources {
		s := source.Status{Name: entry.Name, Metrics: entry.Metrics, Needs: entry.Needs}
		if entry.Plan != nil {
			var lacks []string
			s.Ways, lacks, s.OpenErr = types.Foresee(entry.Plan())
			for _, why := range lacks {
				s.Gaps = append(s.Gaps, sample.Gap{Source: entry.Name, Why: why})
			}
		}
		all = append(all, s)
		for _, m := range entry.Metrics {
			has[m] = has[m] || s.OpenErr == nil
		}
	}
	for _, entry := range source.StandIns() {
		for _, m := range entry.Metrics {
			has[m] = true
		}
	}
	for i := range all {
		if sources[i].Plan == nil {
			continue
		}
		s := tryOne(&all[i])
		if s.State != Works {
			s.Costs, s.Replaced = costs(diagnose.List(), all[i].Metrics, has)
		}
		c.Sources = append(c.Sources, s)
	}
	c.Verdicts = verdicts(diagnose.List(), has)
	return c, nil
}
