package incident

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"runtime/debug"
	"time"

	"iocause/internal/agent"
	"iocause/internal/diagnose"
	"iocause/internal/host"
	"iocause/internal/judge"
	"iocause/internal/replay"
	"iocause/internal/sample"
	"iocause/internal/session"
	"iocause/internal/source"
	"iocause/internal/store/advice"
	"iocause/internal/store/incidents"
	"iocause/internal/store/recording"
	"iocause/internal/tool/record"
	"iocause/internal/tool/verify"
)

// Judge judges incidents of a machine.
type Judge struct {
	Host    *host.Host
	Program string         // who judges, for what is kept
	Opener  *replay.Opener // of the window of better times
	Sources []source.Entry // that watch
	// OpenLimit is how long one of them may take to open before it is done without.
	OpenLimit time.Duration
}

// watch observes with all sources for a time. The window is there even where the
// header lacks something, and is empty when it was interrupted early.
func (j *Judge) watch(ctx context.Context, length time.Duration) (*sample.Window, recording.Header, error) {
	w, err := judge.Open(ctx, j.Host, j.Sources, j.OpenLimit)
	if err != nil {
		return &sample.Window{}, recording.Header{}, nil
	}
	defer w.Close()
	header, lacks := record.Header(j.Host, j.Program, w.Statuses(), length)
	seen, _, err := w.Window(ctx, &judge.Run{Observation: source.Observation{Length: length}})
	return seen, header, errors.Join(lacks, err)
}

// Judge watches with all probes for a time and judges, as diagnose does, against
// a window of better times where there is one. What was seen comes along as a
// recording, that every observation command can show later, and with what the
// costly probes see afterwards.
func (j *Judge) Judge(ctx context.Context, ask agent.Ask) (f agent.Finding) {
	defer func() { // most of what runs here runs only now
		debug.FreeOSMemory()
		if err := host.ReleaseProgram(); err != nil {
			f.Notes = append(f.Notes, err.Error())
		}
	}()
	if ask.Again != "" {
		return j.again(ctx, &ask)
	}
	before, costErr := source.ReadCost(j.Host, sample.NewWindow(j.Host.Now(), 0)) // of the agent's life so far
	if costErr != nil {
		f.Notes = append(f.Notes, fmt.Sprintf("the cost of observing: %v", costErr))
	}
	w, header, err := j.watch(ctx, ask.Length)
	if err != nil {
		f.Notes = append(f.Notes, fmt.Sprintf("the fingerprint of the machine: %v", err))
	}
	if w.Length < session.Shortest {
		f.Notes = append(f.Notes, "the finding: it was interrupted before anything was seen")
		return f
	}
	if ask.Look {
		keepWindow(&f, header, w, recording.Cost{})
		report, err := judge.Live(j.Host, w, diagnose.Target{}, nil)
		if err != nil {
			f.Notes = append(f.Notes, fmt.Sprintf("judging: %v", err))
			return f
		}
		tell(&f, report)
		return f
	}
	past, err := pastIn(j.Opener, ask.Normal)
	if err != nil {
		f.Notes = append(f.Notes, fmt.Sprintf("comparing with the baseline: %v", err))
	}
	report, err := judge.Live(j.Host, w, diagnose.Target{PIDs: ask.PIDs}, past)
	if err == nil && len(ask.PIDs) > 0 && report.Primary == diagnose.Healthy { // it is not them: then whoever it is
		report, err = judge.Live(j.Host, w, diagnose.Target{}, past)
	}
	if err != nil {
		f.Notes = append(f.Notes, fmt.Sprintf("judging: %v", err))
		return f
	}
	report.Cost.CPUSeconds -= before.CPUSeconds
	tell(&f, report)
	keepWindow(&f, header, w, recording.Cost{CPUSeconds: report.Cost.CPUSeconds, RSSBytes: report.Cost.RSSBytes})
	if past != nil {
		f.Sections = append(f.Sections, incidents.Section{Name: SectionNormal, Type: TypeRecording, Data: ask.Normal})
	}
	sections, notes := Gather(ctx, Kinds(j.Host, j.Program), Gathering{Length: ask.Length, Victim: report.Victim.Comm})
	f.Sections, f.Notes = append(f.Sections, sections...), append(f.Notes, notes...)
	return f
}

// again tells what came of the advice of an incident: the program that was held up is
// watched, and held against what it did then.
func (j *Judge) again(ctx context.Context, ask *agent.Ask) (f agent.Finding) {
	fail := func(what string, err error) agent.Finding {
		return agent.Finding{Notes: []string{fmt.Sprintf("%s: %v", what, err)}}
	}
	p, err := j.Opener.File(ask.Again, &replay.Interval{})
	if err != nil {
		return fail("reading the incident", err)
	}
	r, err := judge.Recording(p, diagnose.Target{}, true, nil)
	if err = errors.Join(err, p.Close()); err != nil {
		return fail("judging the incident", err)
	}
	target, err := verify.Target(r.Report)
	if err != nil {
		return fail("judging the incident", err)
	}
	w, _, err := j.watch(ctx, ask.Length)
	if err != nil && w.Length < session.Shortest {
		return fail("watching", err)
	}
	if missing := target.Missing(w); missing != "" {
		return fail("looking for the program", errors.New(missing))
	}
	now, err := judge.Live(j.Host, w, target, nil)
	if err != nil {
		return fail("judging", err)
	}
	o := verify.Compare(&verify.Seen{Window: r.Window, Report: r.Report}, &verify.Seen{Window: w, Report: now})
	return agent.Finding{Again: &advice.Outcome{Result: string(o.Result), Factor: o.Factor, Notes: o.Notes}}
}

// tell adds the report to a finding.
func tell(f *agent.Finding, report *diagnose.Report) {
	f.Cause = string(report.Primary)
	if len(report.Findings) > 0 {
		f.Title = report.Findings[0].Title
	}
	var err error
	if f.Report, err = json.Marshal(report); err != nil {
		f.Notes = append(f.Notes, fmt.Sprintf("the finding: %v", err))
	}
}

// keepWindow adds the recording of a window to a finding.
func keepWindow(f *agent.Finding, header recording.Header, w *sample.Window, cost recording.Cost) {
	section, err := Window(header, w, cost)
	if err != nil {
		f.Notes = append(f.Notes, fmt.Sprintf("the recording of what was seen: %v", err))
		return
	}
	f.Sections = append(f.Sections, section)
}

// pastIn is a recording in memory as what a window is compared with, nil for
// none.
func pastIn(o *replay.Opener, data []byte) (*judge.Past, error) {
	if len(data) == 0 {
		return nil, nil
	}
	p, err := o.Data(SectionNormal, data, &replay.Interval{})
	if err != nil {
		return nil, err
	}
	return judge.ReadPast(p)
}

// Past is what an incident was judged against; nil where it was against nothing,
// and for what is no incident.
func Past(o *replay.Opener, name string) (*judge.Past, error) {
	quiet := *o
	quiet.Note = func(error) {} // what is damaged was said
	x, err := quiet.Incident(name)
	if errors.Is(err, fs.ErrNotExist) { // made of the agent's series
		return nil, nil
	}
	if x == nil || err != nil {
		return nil, err
	}
	for _, s := range x.Sections {
		if s.Name == SectionNormal {
			return pastIn(o, s.Data)
		}
	}
	return nil, nil
}
