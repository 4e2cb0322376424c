package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"iocause/internal/host"
	"iocause/internal/present/text"
	"iocause/internal/sample"
	"iocause/internal/session"
	"iocause/internal/source/probe/threads"
	"iocause/internal/table"
)

// threadsOptions are the flags of threads.
type threadsOptions struct {
	intervals
	filter    filter
	by        string
	histogram bool
	playback  playback
}

func newThreadsCommand(a *app) *cobra.Command {
	o := &threadsOptions{}
	c := &cobra.Command{
		Use:   "threads " + intervalUsage,
		Short: "Show what share of its time each thread spends in which state",
		Long: "Threads shows what every thread does with its time: runs, waits for a processor,\n" +
			"for the disk, for memory, for a lock of the kernel or of the program, for the\n" +
			"network, or for work. The shares are measured at every context switch, not\n" +
			"sampled, and add up to 100 %; what no state accounts for is in the last column.\n\n" +
			"In a terminal of 160 columns every state has a column of its own; a narrower one\n" +
			"shows: cpu (on a processor), queue (ready, waiting for one), disk (block I/O,\n" +
			"file systems, page faults that read), mem (other page faults, dirty-page pauses,\n" +
			"direct reclaim), klock (locks of the kernel), futex (locks and conditions of the\n" +
			"program), net (sockets, pipes), idle, other (stopped, unknown), left (what no\n" +
			"state accounts for). JSON and CSV have every state. The busiest come first:\n" +
			"idle, net, other, and of futex all but contended mutexes, are not busy.\n\n" + intervalHelp,
		Example: `  iocause threads
  iocause threads 1
  iocause threads 1 10 --pid 1234 --histogram
  iocause threads --by process --sort disk_ratio
  iocause threads 5 --comm postgres --top 0 --format csv
  iocause threads --recording 17 --by process`,
		RunE: func(c *cobra.Command, args []string) error { return a.threads(c, o, args) },
	}
	o.bind(c, "busy_threads")
	f := c.Flags()
	f.StringVar(&o.by, "by", "thread", "thread, process, comm or cgroup")
	f.BoolVar(&o.histogram, "histogram", false, "show how long the waits of each state were, too")
	f.IntVar(&o.filter.pid, "pid", 0, "only threads of this process")
	f.StringVar(&o.filter.comm, "comm", "", "only threads of this name, or of processes of this\nname")
	f.StringVar(&o.filter.cgroup, "cgroup", "", "only threads in and below this cgroup")
	o.playback.bind(c)
	return c
}

// groupings are what --by may be.
func groupings() []string { return []string{"thread", "process", "comm", "cgroup"} }

// threads is the command.
func (a *app) threads(c *cobra.Command, o *threadsOptions, args []string) error {
	if err := o.args(args); err != nil {
		return err
	}
	if !slices.Contains(groupings(), o.by) {
		return &usageError{fmt.Errorf("reading --by: nothing is called %q", o.by), "use " + strings.Join(groupings(), ", ")}
	}
	if data, err := a.evidence(c, &o.playback, sectionThreads); err != nil {
		return err
	} else if data != nil {
		return a.playThreads(c, o, data, args)
	}
	s := &threadShares{o: o, lookup: host.NewLookup(a.host), self: a.host.Self, total: newThreadRows()}
	if err := s.checkSort(); err != nil {
		return err
	}
	options := threads.Options{Waits: o.histogram}
	for _, name := range o.filter.given(c) {
		t, err := o.filter.target(a.host, []string{name})
		if err != nil {
			return err
		}
		if len(t.PIDs) > 0 {
			options.PID = t.PIDs[0]
		}
		s.comm, s.cgroup = s.comm+t.Comm, s.cgroup+t.Cgroup
	}
	watch, stop := session.UntilInterrupt(c.Context(), nil)
	defer stop()
	probe, err := threads.Open(a.host, options)
	if err != nil {
		return fmt.Errorf("watching the threads: %w", err)
	}
	s.probe, s.notes = probe, probe.Missing()
	return errors.Join(a.watchThreads(watch, s), probe.Close())
}

// watchThreads shows one interval after the other.
func (a *app) watchThreads(watch context.Context, s *threadShares) error {
	if err := s.probe.Begin(); err != nil {
		return fmt.Errorf("watching the threads: %w", err)
	}
	arranged := s.o.intervals
	arranged.sort, arranged.top = "", 0 // the tables come sorted and cut
	p := a.newPrinter(&arranged)
	s.style = p.style
	return a.showIntervals(watch, &s.o.intervals, p, &observed{tick: drainEvery, during: s.probe.Drain, follow: true,
		next: func(i session.Interval) ([]table.Table, error) {
			tables, err := s.look(i.Length)
			if err != nil {
				return nil, fmt.Errorf("watching the threads: %w", err)
			}
			return tables, nil
		}, sum: s.sum})
}

// threadShares makes the tables of threads.
type threadShares struct {
	o      *threadsOptions
	probe  *threads.Probe
	lookup *host.Lookup
	style  text.Style
	self   int // our own process
	comm   string
	cgroup string
	total  *threadRows // of all intervals
	waits  waitsByState
	notes  []string // to be said with the next table
	lost   map[string]uint64
}

// look is the tables of one interval.
func (s *threadShares) look(length time.Duration) ([]table.Table, error) {
	usages, err := s.probe.Look()
	if err != nil {
		return nil, err
	}
	rows := newThreadRows()
	pids := map[int]bool{}
	for i := range usages {
		u := &usages[i]
		cgroup := s.lookup.MemoryCgroup(u.Cgroup)
		if u.PID == s.self || !s.wants(u, cgroup) {
			continue
		}
		pids[u.PID] = true
		rows.add(s.o.by, u, cgroup)
		s.total.add(s.o.by, u, cgroup)
	}
	var waits waitsByState
	if s.o.histogram {
		all, err := s.probe.Waits()
		if err != nil {
			return nil, err
		}
		for i := range all {
			if pids[all[i].PID] && (s.comm == "" || rows.named(all[i].PID, all[i].Comm, s.comm)) {
				waits.add(&all[i])
				s.waits.add(&all[i])
			}
		}
	}
	if err := s.noteLosses(); err != nil {
		return nil, err
	}
	return s.tables(rows, length, &waits), nil
}

// sum is the tables of all intervals.
func (s *threadShares) sum(length time.Duration) []table.Table {
	s.notes = newLosses(s.lost, nil)
	if s.total.merged > 0 {
		s.notes = append(s.notes, sample.Counted(s.total.merged, "thread")+", met last, added up in one row")
	}
	return s.tables(s.total, length, &s.waits)
}

func (s *threadShares) wants(u *threads.Usage, cgroup string) bool {
	if s.comm != "" && u.Comm != s.comm && u.Process != s.comm {
		return false
	}
	return s.cgroup == "" || s.cgroup == "/" || cgroup == s.cgroup || strings.HasPrefix(cgroup, s.cgroup+"/")
}

// noteLosses says what was lost since the last interval.
func (s *threadShares) noteLosses() error {
	now, err := s.probe.Losses()
	if err != nil {
		return err
	}
	s.notes = append(s.notes, newLosses(now, s.lost)...)
	s.lost = now
	return nil
}
