package fleet

import (
	"context"
	"errors"
	"fmt"

	"iocause/internal/table"
)

// Causes are hosts by cause, and what those of each have in common.
func Causes(ctx context.Context, a *Ask) ([]table.Table, error) {
	f, err := Observe(ctx, a)
	if err != nil {
		return nil, err
	}
	return f.Tables(), nil
}

// InCommon is what the hosts with one cause have in common.
func InCommon(ctx context.Context, a *Ask) ([]table.Table, error) {
	if a.Cause == "" {
		return nil, &BadEndpoint{errors.New("reading --cause: it is missing; 'iocause fleet' shows which there are")}
	}
	f, err := Observe(ctx, a)
	if err != nil {
		return nil, err
	}
	common, err := f.Common(a.Cause)
	if err != nil {
		return nil, err
	}
	return []table.Table{common.Table()}, nil
}

// HostsWith are the hosts with a cause, by name.
func HostsWith(ctx context.Context, a *Ask) ([]table.Table, error) {
	f, err := Observe(ctx, a)
	if err != nil {
		return nil, err
	}
	return []table.Table{f.HostTable(a.Cause)}, nil
}

// SlowOnes are the disks that are slower than their like.
func SlowOnes(ctx context.Context, a *Ask) ([]table.Table, error) {
	d, err := ObserveDisks(ctx, a)
	if err != nil {
		return nil, err
	}
	return []table.Table{d.Table()}, nil
}

// SideBySide compares two hosts, or two groups.
func SideBySide(ctx context.Context, a *Ask) ([]table.Table, error) {
	c, err := Compare(ctx, a, a.Sides)
	if err != nil {
		return nil, err
	}
	return c.Tables(), nil
}

// Whole is all that is known of a fleet.
type Whole struct {
	Fleet  *Fleet
	Common []*Common // of each cause
	Disks  *Disks    // nil where it could not be told
	Notes  []string  // what could not be told, and why
}

// Everything asks for all of it.
func Everything(ctx context.Context, a *Ask) (*Whole, error) {
	f, err := Observe(ctx, a)
	if err != nil {
		return nil, err
	}
	out := &Whole{Fleet: f}
	for _, cause := range f.causes() {
		if cause == cannotTell {
			continue
		}
		c, err := f.Common(cause)
		if err != nil {
			return nil, err
		}
		out.Common = append(out.Common, c)
	}
	if out.Disks, err = ObserveDisks(ctx, a); err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		out.Notes = append(out.Notes, fmt.Sprintf("slow disks could not be told: %v", err))
	}
	return out, nil
}
