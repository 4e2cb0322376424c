package cli

import (
	"context"
	"time"

	"iocause/internal/incident"
	"iocause/internal/sample"
	"iocause/internal/source"
	"iocause/internal/store/recording"
)

// incidentJudge judges incidents of this machine.
func (a *app) incidentJudge() *incident.Judge {
	return &incident.Judge{Host: a.host, Program: programName(), Opener: a.opener(stateDir), Watch: a.watchOnce}
}

// watchOnce observes with all sources for a time. The window is there even
// where the header lacks something.
func (a *app) watchOnce(ctx context.Context, length time.Duration) (*sample.Window, recording.Header, error) {
	open, cancel := context.WithTimeout(ctx, openLimit())
	defer cancel()
	collector := source.Open(open, a.host, a.sources)
	defer collector.Close()
	collector.StandIn(source.StandIns())
	header, err := a.recordingHeader(collector.Statuses(), length)
	collector.Begin()
	return collector.Observe(ctx, source.Observation{Length: length}), header, err
}
