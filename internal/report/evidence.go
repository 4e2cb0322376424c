package report

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"

	"iocause/internal/incident"
	"iocause/internal/picture"
	"iocause/internal/replay"
	"iocause/internal/sample"
	"iocause/internal/store/incidents"
	"iocause/internal/store/tracefile"
	"iocause/internal/tool/profile"
)

// mostIOs is how many single I/Os are drawn.
const mostIOs = 400_000

func orNaN(v *float64) float64 {
	if v == nil {
		return math.NaN()
	}
	return *v
}

// section is a piece of evidence; the error is fs.ErrNotExist where there is none.
func section(x *incidents.Incident, name string) ([]byte, error) {
	data, err := replay.SectionOf(x, "", name)
	if err != nil {
		return nil, fs.ErrNotExist
	}
	return data, nil
}

// traced draws the I/Os of an incident.
func traced(x *incidents.Incident) (*picture.Set, error) {
	data, err := section(x, incident.SectionTrace)
	if err != nil {
		return nil, err
	}
	set, err := Trace(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("the evidence %s: %w", incident.SectionTrace, err)
	}
	return set, nil
}

// Trace draws the I/Os of a file of 'iocause trace'. Of one that was cut off it is
// what came before.
func Trace(from io.Reader) (*picture.Set, error) {
	file, err := tracefile.NewReader(from)
	if err != nil {
		return nil, err
	}
	var ios []sample.IO
	for len(ios) < mostIOs {
		one, err := file.Next()
		var cut *tracefile.CutError
		if err == io.EOF || errors.As(err, &cut) {
			break
		}
		if err != nil {
			return nil, err
		}
		ios = append(ios, *one)
	}
	return picture.Traced(fmt.Sprintf("Every I/O, %d of them", len(ios)), "tp:block_rq_complete", file.Header().Began, ios), nil
}

// stacksOf is where threads spent their time.
func stacksOf(x *incidents.Incident, name string) (*sample.Profile, error) {
	data, err := section(x, name)
	if err != nil {
		return nil, err
	}
	p, err := incident.As[profile.Profile](data, name)
	if err != nil {
		return nil, err
	}
	p.Title = map[string]string{incident.SectionOffCPU: "Where threads wait", incident.SectionOnCPU: "Where threads run"}[name]
	return &p.Profile, nil
}
