// Package offers has the values that a shell can offer for flags and arguments, each
// list cut to those that begin as what is typed.
package offers

import (
	"context"
	"errors"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"iocause/experiments"
	"iocause/internal/detect"
	"iocause/internal/diagnose"
	"iocause/internal/filters"
	"iocause/internal/host"
	"iocause/internal/lab"
	"iocause/internal/parse"
	"iocause/internal/replay"
	"iocause/internal/store/incidents"
	"iocause/internal/tool/profile"
	"iocause/internal/tool/query"
	"iocause/scenarios"
)

// Line is a command line so far, as far as values depend on it.
type Line struct {
	Host      *host.Host
	Dir       string // the agent's directory
	Recording string // it asks this file or incident; "" for this machine
	Begin     string // what is typed of the value
}

// Values are those of a flag or an argument.
type Values struct {
	Of      func(context.Context, *Line) []filters.Offer // nil where there is nothing to offer
	Files   bool                                         // files are values, too
	Folders bool                                         // folders are the only values
	More    bool                                         // a value may go on behind what is offered
	Most    int                                          // arguments, of an argument
}

// OfFlag are the values of a flag, by its name.
func OfFlag(name string) Values {
	switch name {
	case "pid", "comm", "device", "container", "pod", "unit":
		return Values{Of: of(name)}
	case "cgroup":
		return Values{Of: of(name), More: true}
	case "recording", "against":
		return Values{Of: numbers, Files: true}
	case "state":
		return Values{Of: list(append(profile.WaitStates(), strings.Split(profile.Groups(), ", ")...)), More: true}
	case "fail-on":
		return Values{Of: list(diagnose.Answers()), More: true}
	case "cause":
		return Values{Of: plain(Causes)}
	case "as":
		return Values{Of: plain(Tools)}
	case "filter":
		return Values{Of: plain(Scenarios)}
	case "dir", "scratch", "keep":
		return Values{Of: func(context.Context, *Line) []filters.Offer { return nil }, Folders: true}
	}
	return Values{}
}

// OfArgument are the values of a command's arguments, by its path without iocause.
func OfArgument(command string) Values {
	switch command {
	case "incident", "report":
		return Values{Of: numbers, Files: true, Most: 1}
	case "diff":
		return Values{Of: numbers, Files: true, Most: 2}
	case "export":
		return Values{Of: numbers, Most: 1}
	case "baseline":
		return Values{Of: plain(Signals), Most: 1}
	case "query":
		return Values{Of: func(ctx context.Context, l *Line) []filters.Offer { return Series(ctx, l.Dir, l.Begin) }, More: true, Most: 1}
	case "lab run":
		return Values{Of: plain(Experiments), Files: true, Most: 1}
	}
	return Values{}
}

// OneOf are some words.
func OneOf(words []string) Values {
	return Values{Of: plain(func(begin string) []filters.Offer { return filters.Begin(named(words), begin) })}
}

// longest is how long a recording is read: nobody waits longer for a shell. What
// comes later in it is not offered.
const longest = 400 * time.Millisecond

// of are what there is on this machine, or in the recording that is asked.
func of(flag string) func(context.Context, *Line) []filters.Offer {
	return func(ctx context.Context, l *Line) []filters.Offer {
		place := filters.Here(l.Host)
		if l.Recording != "" {
			ctx, cancel := context.WithTimeout(ctx, longest)
			defer cancel()
			from := replay.Opener{Dir: l.Dir, Now: l.Host.Now}
			names, err := from.Names(ctx, replay.Numbered(l.Dir, l.Recording))
			if err != nil {
				return nil // an agent's directory, or what is no recording
			}
			place = filters.Recorded(names.Processes, names.Devices, names.Cgroups)
		}
		return place.Offers(flag, l.Begin)
	}
}

func numbers(_ context.Context, l *Line) []filters.Offer { return Incidents(l.Dir, l.Begin) }

// plain are values that the command line before them does not change.
func plain(offer func(begin string) []filters.Offer) func(context.Context, *Line) []filters.Offer {
	return func(_ context.Context, l *Line) []filters.Offer { return offer(l.Begin) }
}

func list(words []string) func(context.Context, *Line) []filters.Offer {
	return plain(func(begin string) []filters.Offer { return List(words, begin) })
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
