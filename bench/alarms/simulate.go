package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"iocause/internal/detect"
	"iocause/internal/sample"
)

// outcome is how a rule did on one host or more.
type outcome struct {
	hosts, weeks int
	alarms       int
	falseFirst   int // false alarms in the first week, while little is known
	falseLater   int
	delays       []time.Duration // of what was found
	found, all   map[string]int  // by kind
	day, dayAll  int             // found and planted from 8:00 to 20:00
	during       map[string]int  // false alarms by what went on
	byGroups     int             // false alarms that began with what a group did
	inGroups     map[string]int  // found incidents of groups, by kind
	allInGroups  map[string]int
}

func (o *outcome) add(p outcome) {
	o.hosts, o.weeks = o.hosts+p.hosts, p.weeks
	o.alarms, o.falseFirst, o.falseLater = o.alarms+p.alarms, o.falseFirst+p.falseFirst, o.falseLater+p.falseLater
	o.day, o.dayAll = o.day+p.day, o.dayAll+p.dayAll
	o.delays = append(o.delays, p.delays...)
	o.byGroups += p.byGroups
	for to, from := range map[*map[string]int]map[string]int{&o.during: p.during, &o.inGroups: p.inGroups, &o.allInGroups: p.allInGroups} {
		for k, n := range from {
			(*to)[k] += n
		}
	}
	for k, n := range p.all {
		o.all[k] += n
		o.found[k] += p.found[k]
	}
}

func sum(m map[string]int) int {
	n := 0
	for _, v := range m {
		n += v
	}
	return n
}

func newOutcome() outcome {
	return outcome{found: map[string]int{}, all: map[string]int{}, during: map[string]int{}, inGroups: map[string]int{}, allInGroups: map[string]int{}}
}

// falsePerWeek is the number of false alarms a host and week.
func (o *outcome) falsePerWeek() float64 {
	return float64(o.falseFirst+o.falseLater) / float64(o.hosts*o.weeks)
}

// delay is a quantile of the time from the beginning of an incident to the
// alarm.
func (o *outcome) delay(q float64) time.Duration {
	if len(o.delays) == 0 {
		return 0
	}
	slices.Sort(o.delays)
	return o.delays[int(q*float64(len(o.delays)-1)+0.5)]
}

// slack is how long after its end an incident may still be told.
const slack = 10 * time.Minute

// chosenOn is the number of hosts that the rule's numbers were chosen on: they
// are not those that it is measured on.
const chosenOn = 8

// simulate runs hosts for some weeks under a rule.
func simulate(first, hosts, weeks, workers int, start time.Time, loc *time.Location, v variant) outcome {
	results := make([]outcome, hosts)
	var wg sync.WaitGroup
	next := make(chan int)
	for range workers {
		wg.Go(func() {
			for n := range next {
				results[n] = simulateHost(first+n, weeks, start, loc, v)
			}
		})
	}
	for n := range hosts {
		next <- n
	}
	close(next)
	wg.Wait()
	all := newOutcome()
	for _, o := range results {
		all.add(o)
	}
	return all
}

// simulateHost runs one host: what its clock shows is what it is told.
func simulateHost(number, weeks int, start time.Time, loc *time.Location, v variant) outcome {
	m := newMachine(number, weeks, start, loc)
	w := detect.NewWatch(detect.Signals(), v.rule, loc, detect.NewHistory(loc))
	var alarms []sample.Incident
	keep := func(d detect.Decision) {
		switch d.Action {
		case detect.Open:
			alarms = append(alarms, d.Incident)
		case detect.Extend, detect.Close:
			alarms[len(alarms)-1] = d.Incident
		}
	}
	var g *groups
	works := detect.NewWorks()
	if v.groups {
		g = newGroups(m, number, weeks)
	}
	values := map[string]float64{}
	end := start.Add(time.Duration(weeks) * 7 * 24 * time.Hour)
	for at := start; at.Before(end); at = at.Add(step) {
		cpu, memory, disk, requests, ok := m.sample(at)
		if !ok {
			continue
		}
		values[detect.SignalUser], values[detect.SignalMemoryPressure], values[detect.SignalDiskPressure] = cpu, memory, disk
		if !v.blind {
			values[detect.SignalRequests] = requests
		}
		s := detect.Sample{At: at, Values: values}
		if g != nil {
			g.at(m, at, m.load)
			s.Limits = g.limits(works, at)
		}
		keep(w.Add(s))
	}
	if g == nil {
		return score(m, weeks, alarms, nil)
	}
	return score(m, weeks, alarms, g.planted)
}

// tells tells whether an alarm is of what was planted.
func tells(a *sample.Incident, p *planted) bool {
	return a.End.After(p.from) && a.Opened.Before(p.to.Add(slack))
}

// score compares alarms with what was planted.
func score(m *machine, weeks int, alarms []sample.Incident, inGroups []planted) outcome {
	o := newOutcome()
	o.hosts, o.weeks, o.alarms = 1, weeks, len(alarms)
	for _, a := range alarms {
		if is := func(p planted) bool { return tells(&a, &p) }; slices.ContainsFunc(m.planted, is) || slices.ContainsFunc(inGroups, is) {
			continue
		}
		if len(a.Limits) > 0 {
			o.byGroups++
		}
		o.during[m.during(a.Start, a.Opened)]++
		if a.Opened.Sub(m.start) < 7*24*time.Hour {
			o.falseFirst++
		} else {
			o.falseLater++
		}
	}
	for _, p := range inGroups {
		o.allInGroups[p.kind]++
		if slices.ContainsFunc(alarms, func(a sample.Incident) bool { return tells(&a, &p) }) {
			o.inGroups[p.kind]++
		}
	}
	for _, p := range m.planted {
		o.all[p.kind]++
		hour := p.from.In(m.loc).Hour()
		daily := hour >= 8 && hour < 20
		if daily {
			o.dayAll++
		}
		for _, a := range alarms {
			if tells(&a, &p) {
				o.found[p.kind]++
				o.delays = append(o.delays, max(0, a.Opened.Sub(p.from)))
				if daily {
					o.day++
				}
				break
			}
		}
	}
	return o
}

// variant is a rule with a name.
type variant struct {
	name   string
	rule   detect.Rule
	blind  bool // to what disks get done
	groups bool // of processes are watched, too
}

// variants are the rule in use and what it was chosen over.
func variants() []variant {
	use := detect.DefaultRule()
	stale, later, jobs, former := use, use, use, use
	stale.Fresh, later.Sooner, jobs.Less = false, false, false
	former.Fresh, former.Sooner, former.Less, former.Blatant = false, false, false, 0
	done, weeks, strict, no, one, three, short := former, former, former, former, former, former, former
	done.Fall = math.Inf(1)
	weeks.HalfHour = false
	for _, r := range []*detect.Rule{&strict, &no, &one, &three, &short} {
		r.HalfHour = false
	}
	strict.Z, strict.Sum = 4, 6
	no.Sum = 0
	one.Families, one.Z, one.Sum = 1, 4, 0
	three.Families = 3
	short.Within, short.Bad = 6, 5
	return []variant{{name: fmt.Sprintf("in use: 2 of 3 families, z %g, sum %g, and groups of processes", use.Z, use.Sum), rule: use, groups: true},
		{name: "the same, without groups", rule: use},
		{name: "without groups, and little work for the hour counts without a fall", rule: stale},
		{name: "without groups, and what recurs is known from the second time on", rule: later},
		{name: "without groups, and memory and disks alone count without a fall of work", rule: jobs},
		{name: "former: without all of this", rule: former},
		{name: "former, but of the half hour before only what was done", rule: done},
		{name: "former, but without the half hour before", rule: weeks}, {name: "former, but without requests", rule: former, blind: true},
		{name: "2 of 3 families, z 4, sum 6", rule: strict}, {name: "2 of 3 families, z 1, no sum", rule: no},
		{name: "any family, z 4", rule: one}, {name: "all 3 families", rule: three}, {name: "the same as the former, but 5 of 6 samples", rule: short}}
}

// kindNames are the kinds of incidents, sorted.
func kindNames() []string {
	var names []string
	for _, k := range kinds() {
		names = append(names, k.name)
	}
	names = append(names, busyLimit)
	slices.SortFunc(names, cmp.Compare[string])
	return names
}
