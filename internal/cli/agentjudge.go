package cli

import (
	"context"
	"time"

	"iocause/internal/incident"
	"iocause/internal/sample"
	"iocause/internal/source"
	"iocause/internal/store/recording"
	"iocause/internal/tool/record"
)

// newIncidentJudge judges incidents of this machine.
func newIncidentJudge(e *env) *incident.Judge {
	return &incident.Judge{Host: e.host, Program: programName(), Opener: newOpener(e, stateDir),
		Watch: func(ctx context.Context, length time.Duration) (*sample.Window, recording.Header, error) {
			return watchOnce(ctx, e, length)
		}}
}

// watchOnce observes with all sources for a time. The window is there even
// where the header lacks something.
func watchOnce(ctx context.Context, e *env, length time.Duration) (*sample.Window, recording.Header, error) {
	open, cancel := context.WithTimeout(ctx, openLimit())
	defer cancel()
	collector := source.Open(open, e.host, e.sources)
	defer collector.Close()
	collector.StandIn(source.StandIns())
	header, err := record.Header(e.host, programName(), collector.Statuses(), length)
	collector.Begin()
	return collector.Observe(ctx, source.Observation{Length: length}), header, err
}
