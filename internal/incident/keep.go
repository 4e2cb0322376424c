package incident

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"iocause/internal/agent"
	"iocause/internal/host"
	"iocause/internal/replay"
	"iocause/internal/sample"
	"iocause/internal/session"
	"iocause/internal/store/incidents"
	"iocause/internal/store/recording"
)

// Window is a window as evidence: a recording, that every observation command
// can show later.
func Window(header recording.Header, w *sample.Window, cost recording.Cost) (incidents.Section, error) {
	var kept bytes.Buffer
	to, err := recording.NewWriter(&kept, header)
	if err == nil {
		err = to.Window(&recording.Record{Window: w, Cost: cost})
	}
	if err == nil {
		err = to.End(recording.End{})
	}
	return incidents.Section{Name: SectionRecording, Type: TypeRecording, Data: kept.Bytes()}, err
}

// Capture watches and judges for so long, as at an anomaly, and gathers what the
// agent does then; why may be "". folder is an agent's, whose tables are
// taken along where it has some of the time. began is when it was asked for.
func (j *Judge) Capture(ctx context.Context, length time.Duration, why, folder string, began time.Time) (*incidents.Incident, error) {
	f := j.Judge(ctx, agent.Ask{Length: length})
	if f.Report == nil {
		return nil, session.TooEarly(ctx)
	}
	x := &incidents.Incident{Finding: f.Report, Sections: f.Sections, Meta: byHand(j.Host, j.Program, why, began)}
	x.Meta.Cause, x.Meta.Title, x.Meta.Notes = f.Cause, f.Title, f.Notes
	top, ok, err := agent.TablesAround(folder, j.Program, began, x.Meta.What.End)
	if err != nil {
		x.Meta.Notes = append(x.Meta.Notes, fmt.Sprintf("%s: %v", agent.SectionTop, err))
	} else if ok { // an agent keeps some here
		x.Sections = append(x.Sections, top)
	}
	return x, nil
}

// byHand is what is said of an incident that was captured by hand, from began
// until now; why may be "".
func byHand(h *host.Host, program, why string, began time.Time) incidents.Meta {
	return incidents.Meta{
		Host: h.Name(), Kernel: h.Release(), Program: program,
		What: sample.Incident{Start: began, Opened: began, End: h.Now(), Reasons: []sample.Reason{},
			Limits: []sample.Limit{{Kind: sample.LimitByHand, What: why}}},
	}
}

// Save keeps an incident with those of the agent in its folder, which must be
// able to read it.
func Save(folder string, x *incidents.Incident) error {
	dir := filepath.Join(folder, replay.IncidentsIn)
	if err := incidents.Save(dir, x); err != nil {
		return fmt.Errorf("%w; -o FILE writes it elsewhere", err)
	}
	above, err := os.Stat(folder)
	if err != nil {
		return fmt.Errorf("keeping the incident: %w", err)
	}
	owner, ok := above.Sys().(*syscall.Stat_t)
	if !ok || os.Geteuid() != 0 {
		return nil
	}
	for _, name := range []string{dir, incidents.Path(dir, x.Meta.Number)} {
		if err := os.Lchown(name, int(owner.Uid), int(owner.Gid)); err != nil {
			return fmt.Errorf("giving the incident to the agent's user: %w", err)
		}
	}
	return nil
}
