package judge

import (
	"cmp"
	"errors"
	"strings"

	"iocause/internal/diagnose"
	"iocause/internal/host"
	"iocause/internal/replay"
)

// Past is a recording that another window is compared with.
type Past struct {
	*Recorded
	Name        string
	Fingerprint any
}

// ReadPast reads and closes a recording.
func ReadPast(p *replay.Playback) (*Past, error) {
	j, _, err := joined(p, diagnose.Target{}, true)
	if err = errors.Join(err, p.Close()); err != nil {
		return nil, err
	}
	return &Past{Recorded: j, Name: p.Name, Fingerprint: fingerprintOf(p)}, nil
}

// against is the recording as a window of the machine with this fingerprint is
// compared with it, nil for none. Where a command was recorded and processes are
// asked about by their ids, the command is what they are compared with.
func (p *Past) against(target diagnose.Target, fingerprint any) (*diagnose.Before, error) {
	if p == nil {
		return nil, nil
	}
	b := &diagnose.Before{Window: p.Window, Target: target}
	if len(target.PIDs) > 0 {
		b.Target = p.Target // a command, or nobody in particular
	}
	was, ok1 := p.Fingerprint.(host.Fingerprint)
	now, ok2 := fingerprint.(host.Fingerprint)
	switch {
	case !ok1:
		b.Unknown = "those of the machine are not in " + p.Name
	case !ok2:
		b.Unknown = "those of the machine are not known"
	default:
		differ, err := host.Differences(&was, &now)
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
