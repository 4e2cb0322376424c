package cmd

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"iocause/internal/agent"
	"iocause/internal/diagnose"
	"iocause/internal/sample"
	"iocause/internal/source"
	"iocause/internal/store/incidents"
	"iocause/internal/store/recording"
)

// judgeIncident watches with all probes for a time and judges, as diagnose
// does. What was seen comes along as a recording, that every observation
// command can show later, and with what the costly probes see afterwards.
func (a *app) judgeIncident(ctx context.Context, length time.Duration) (f agent.Finding) {
	w, header, err := a.watchOnce(ctx, length)
	if err != nil {
		f.Notes = append(f.Notes, fmt.Sprintf("the fingerprint of the machine: %v", err))
	}
	if w.Length < shortest {
		f.Notes = append(f.Notes, "the agent was stopped before anything was seen")
		return f
	}
	report, err := a.report(w, diagnose.Target{}, nil)
	if err != nil {
		f.Notes = append(f.Notes, fmt.Sprintf("judging: %v", err))
		return f
	}
	f.Cause = string(report.Primary)
	if len(report.Findings) > 0 {
		f.Title = report.Findings[0].Title
	}
	if f.Report, err = json.Marshal(report); err != nil {
		f.Notes = append(f.Notes, fmt.Sprintf("the finding: %v", err))
	}
	var kept bytes.Buffer
	to, err := recording.NewWriter(&kept, header)
	if err == nil {
		err = to.Window(&recording.Record{Window: w, Cost: recording.Cost{CPUSeconds: report.Cost.CPUSeconds, RSSBytes: report.Cost.RSSBytes}})
	}
	if err == nil {
		err = to.End(recording.End{})
	}
	if err != nil {
		f.Notes = append(f.Notes, fmt.Sprintf("the recording of what was seen: %v", err))
	} else {
		f.Sections = []incidents.Section{{Name: sectionRecording, Type: typeRecording, Data: kept.Bytes()}}
	}
	a.gather(ctx, report, length, &f)
	return f
}

// watchOnce observes with all sources for a time. The window is there even
// where the header lacks something.
func (a *app) watchOnce(ctx context.Context, length time.Duration) (*sample.Window, recording.Header, error) {
	open, cancel := context.WithTimeout(ctx, openLimit())
	defer cancel()
	collector := source.Open(open, a.host, a.sources)
	defer collector.Close()
	header, err := a.recordingHeader(collector.Statuses(), length)
	collector.Begin()
	return collector.Observe(ctx, source.Observation{Length: length}), header, err
}
