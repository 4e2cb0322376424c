package cli

import (
	"cmp"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"iocause/internal/diagnose"
	"iocause/internal/host"
	"iocause/internal/lab"
	"iocause/internal/replay"
)

// pastOptions are the flags for what a diagnosis is compared with.
type pastOptions struct {
	file, from, to string
}

func (o *pastOptions) bind(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&o.file, "against", "", "compare with this file of 'iocause record'")
	f.StringVar(&o.from, "against-from", "", "begin there in that one")
	f.StringVar(&o.to, "against-to", "", "end there in that one")
}

// past is a recording that another window is compared with.
type past struct {
	*judgement
	name        string
	fingerprint any
}

// readPast reads what to compare with; nil where nothing is asked for. An
// incident is named by its number in that folder of an agent.
func (a *app) readPast(o *pastOptions, dir string) (*past, error) {
	if o.file == "" {
		if o.from+o.to != "" {
			return nil, &usageError{errors.New("reading the flags: --against-from and --against-to choose a part of a recording"), "give --against FILE, too"}
		}
		return nil, nil
	}
	p, err := a.opener(dir).File(replay.Numbered(dir, o.file), &replay.Span{From: o.from, To: o.to, FromFlag: "against-from", ToFlag: "against-to"})
	if err != nil {
		return nil, err
	}
	return pastOf(p)
}

// pastOf reads and closes a recording.
func pastOf(p *replay.Playback) (*past, error) {
	j, _, err := joined(p, diagnose.Target{}, true)
	if err = errors.Join(err, p.Close()); err != nil {
		return nil, err
	}
	return &past{judgement: j, name: p.Name, fingerprint: fingerprintOf(p)}, nil
}

// against is the recording as a window of the machine with this fingerprint is
// compared with it, nil for none. Where a command was recorded and processes are
// asked about by their ids, the command is what they are compared with.
func (p *past) against(target diagnose.Target, fingerprint any) (*diagnose.Before, error) {
	if p == nil {
		return nil, nil
	}
	b := &diagnose.Before{Window: p.window, Target: target}
	if len(target.PIDs) > 0 {
		b.Target = p.target // a command, or nobody in particular
	}
	was, ok1 := p.fingerprint.(host.Fingerprint)
	now, ok2 := fingerprint.(host.Fingerprint)
	switch {
	case !ok1:
		b.Unknown = "those of the machine are not in " + p.name
	case !ok2:
		b.Unknown = "those of the machine are not known"
	default:
		differ, err := lab.Differences(&was, &now)
		if err != nil {
			return nil, err
		}
		for _, d := range differ {
			b.Differ = append(b.Differ, diagnose.Setting{Name: d.Setting, Before: d.A, Now: d.B, Device: ofDisk(d.Setting, &was, &now)})
		}
	}
	return b, nil
}

// ofDisk is the disk that a setting of a device or a file system is about, or
// the source of a file system without one; "" for any other setting.
func ofDisk(setting string, hosts ...*host.Fingerprint) string {
	at, _, _ := strings.Cut(setting, "].")
	if device, ok := strings.CutPrefix(at, "devices["); ok {
		return device
	}
	mount, ok := strings.CutPrefix(at, "file_systems[")
	if !ok {
		return ""
	}
	for _, h := range hosts {
		for _, fs := range h.FileSystems {
			if fs.Mount == mount {
				return cmp.Or(fs.Disk, fs.Device, mount)
			}
		}
	}
	return mount
}
