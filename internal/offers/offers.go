// Package offers has the values that a shell can offer for flags and arguments, each
// list cut to those that begin as what is typed.
package offers

import (
	"context"
	"errors"
	"path/filepath"
	"strconv"
	"strings"

	"iocause/experiments"
	"iocause/internal/detect"
	"iocause/internal/diagnose"
	"iocause/internal/filters"
	"iocause/internal/lab"
	"iocause/internal/parse"
	"iocause/internal/replay"
	"iocause/internal/store/incidents"
	"iocause/internal/tool/query"
	"iocause/scenarios"
)

// Words are the words themselves.
func Words(words []string, begin string) []filters.Offer {
	return filters.Begin(named(words), begin)
}

// List is for several words with commas between them: it offers the last.
func List(words []string, begin string) []filters.Offer {
	before := begin[:strings.LastIndexByte(begin, ',')+1]
	all := filters.Begin(named(words), begin[len(before):])
	for i := range all {
		all[i].Value = before + all[i].Value
	}
	return all
}

func named(words []string) []filters.Offer {
	var all []filters.Offer
	for _, w := range words {
		all = append(all, filters.Offer{Value: w})
	}
	return all
}

// Incidents are the numbers of those that an agent keeps in dir.
func Incidents(dir, begin string) []filters.Offer {
	list, err := incidents.List(filepath.Join(dir, replay.IncidentsIn))
	if err != nil {
		return nil // there is no agent here
	}
	var all []filters.Offer
	for _, e := range list {
		what := replay.Stamp(e.Meta.What.Start) + " " + e.Meta.Cause
		all = append(all, filters.Offer{Value: strconv.Itoa(e.Number), What: strings.TrimSpace(what)})
	}
	return filters.Begin(all, begin)
}

// Causes are those that a diagnosis can name.
func Causes(begin string) []filters.Offer {
	var all []filters.Offer
	for _, c := range diagnose.List() {
		all = append(all, filters.Offer{Value: string(c.ID), What: c.Title})
	}
	return filters.Begin(all, begin)
}

// Tools are those whose output is understood.
func Tools(begin string) []filters.Offer {
	var all []filters.Offer
	for _, t := range parse.List() {
		all = append(all, filters.Offer{Value: t.Name, What: t.What})
	}
	return filters.Begin(all, begin)
}

// Signals are those that have a baseline.
func Signals(begin string) []filters.Offer {
	var all []filters.Offer
	for _, s := range detect.Signals() {
		all = append(all, filters.Offer{Value: s.Name, What: s.Help})
	}
	return filters.Begin(all, begin)
}

// Scenarios are those that come with the program.
func Scenarios(begin string) []filters.Offer {
	every, err := lab.ReadAll(scenarios.Files, ".")
	if err != nil {
		return nil
	}
	var all []filters.Offer
	for _, s := range every {
		all = append(all, filters.Offer{Value: s.Name, What: s.Title})
	}
	return filters.Begin(all, begin)
}

// Experiments are those that come with the program.
func Experiments(begin string) []filters.Offer {
	files, err := experiments.Files.ReadDir(".")
	if err != nil {
		return nil
	}
	var all []filters.Offer
	for _, f := range files {
		all = append(all, filters.Offer{Value: strings.TrimSuffix(f.Name(), ".yaml")})
	}
	return filters.Begin(all, begin)
}

// Series are the metrics that an agent keeps in dir, for the last name of an
// expression: rate(iocause_d goes on as rate(iocause_disk_busy_seconds_total.
func Series(ctx context.Context, dir, begin string) []filters.Offer {
	r, _, err := query.Open(dir)
	if err != nil {
		return nil
	}
	names, err := query.Names(ctx, r)
	if err = errors.Join(err, r.Close()); err != nil {
		return nil
	}
	at := strings.LastIndexFunc(begin, func(r rune) bool { return !isNameRune(r) }) + 1
	var all []filters.Offer
	for _, name := range names {
		if strings.HasPrefix(name, begin[at:]) {
			all = append(all, filters.Offer{Value: begin[:at] + name})
		}
	}
	return all
}

func isNameRune(r rune) bool {
	return r == '_' || r == ':' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}
