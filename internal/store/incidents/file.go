// Package incidents keeps incidents with their evidence, one file for each.
// docs/incidents.md describes it.
//
// A file is a line of text, the name of the format, and records with a
// checksum each. What was cut off or damaged is said; what is left is read.
package incidents

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"iocause/internal/sample"
	"iocause/internal/store/frames"
)

// magic is the first line.
const magic = "iocause-incident 1\n"

// Is tells by the beginning of a file, of 32 bytes or more where it has them,
// whether it is an incident of any version.
func Is(beginning []byte) bool {
	name, _, _ := strings.Cut(magic, "1")
	return bytes.HasPrefix(beginning, []byte(name))
}

// Limits of what a reader believes.
const (
	mostFile   = 256 << 20 // bytes
	mostRecord = 64 << 20  // unpacked
	mostAll    = 128 << 20 // unpacked
	mostJSON   = 4 << 20   // of the records that are read here: what they say takes much more memory
	mostSeries = 1000
)

// ErrFormat is a file that is no incident.
var ErrFormat = errors.New("not an incident of iocause")

// Meta is what is known of an incident without its evidence.
type Meta struct {
	Number  int             `json:"number"` // on its host, from 1
	Host    string          `json:"host"`   // its name
	Kernel  string          `json:"kernel"`
	Program string          `json:"program"`         // that wrote it
	Open    bool            `json:"open"`            // it was going on when this was written
	Cause   string          `json:"cause,omitempty"` // of the finding; "" while not judged
	Title   string          `json:"title,omitempty"` // of it, for people
	Culprit *Culprit        `json:"culprit,omitempty"`
	Notes   []string        `json:"notes,omitempty"` // what could not be gathered, and why
	Records int             `json:"records"`         // that follow this one
	What    sample.Incident `json:"what"`
}

// Culprit is who or what is behind the primary cause, as iocause_finding has it.
type Culprit struct {
	Kind string `json:"kind"` // "process", "cgroup", "device" or "server"
	Name string `json:"name"` // data from the system: it may hold anything
	ID   string `json:"id"`   // the label culprit of iocause_finding: a hash of kind and name
	sample.Identity
	// What the container runtime calls them, where the agent may ask it.
	PodName       string `json:"pod_name,omitempty"`
	Namespace     string `json:"namespace,omitempty"`
	ContainerName string `json:"container_name,omitempty"`
}

// Series is a signal around the incident.
type Series struct {
	Name   string     `json:"name"`
	On     string     `json:"on,omitempty"` // the device, file system or cgroup; "" for the host
	Unit   string     `json:"unit"`
	Source string     `json:"source"`
	Start  time.Time  `json:"start"`
	Step   float64    `json:"step_seconds"`
	Values []*float64 `json:"values"` // nil where not measured
}

// Section is evidence that this room does not look into.
type Section struct {
	Name string // "processes", "off-cpu stacks"
	Type string // "application/json", "text/plain", "application/x-iocause-trace"
	Data []byte
}

// Incident is what one file holds.
type Incident struct {
	Meta     Meta
	Finding  json.RawMessage // the report of diagnose; nil while not judged
	Series   []Series
	Sections []Section
	Lost     []string // what could not be read, for people
}

// The kinds of records, in their order in a file.
const (
	kindMeta = iota + 1
	kindFinding
	kindSeries
	kindSection
)

// The codings of a record's body.
const (
	plain = iota
	packed
)

// Write writes an incident. It sets Meta.Records.
func Write(w io.Writer, x *Incident) error {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedDefault))
	if err != nil {
		return fmt.Errorf("packing the incident: %w", err)
	}
	defer enc.Close()
	x.Meta.Records = len(x.Series) + len(x.Sections)
	if x.Finding != nil {
		x.Meta.Records++
	}
	meta, err := json.Marshal(x.Meta)
	if err != nil {
		return fmt.Errorf("writing the incident: %w", err)
	}
	out := &writer{to: w, enc: enc}
	out.write([]byte(magic))
	out.record(kindMeta, "", "", meta)
	if x.Finding != nil {
		out.record(kindFinding, "", "", x.Finding)
	}
	for i := range x.Series {
		body, err := json.Marshal(&x.Series[i])
		if err != nil {
			return fmt.Errorf("writing the series %s of the incident: %w", x.Series[i].Name, err)
		}
		out.record(kindSeries, "", "", body)
	}
	for _, s := range x.Sections {
		out.record(kindSection, s.Name, s.Type, s.Data)
	}
	if out.err != nil {
		return fmt.Errorf("writing the incident: %w", out.err)
	}
	return nil
}

type writer struct {
	to  io.Writer
	enc *zstd.Encoder
	err error // the first
}

func (w *writer) write(b []byte) {
	if w.err == nil {
		_, w.err = w.to.Write(b)
	}
}

// record writes the kind, the coding, name and type with their lengths, and
// the body: packed where that makes it smaller.
func (w *writer) record(kind byte, name, mime string, body []byte) {
	if len(body) > mostRecord {
		w.err = errors.Join(w.err, fmt.Errorf("record %q has %d bytes, more than %d", name, len(body), mostRecord))
		return
	}
	p := []byte{kind, packed}
	for _, s := range []string{name, mime} {
		p = binary.AppendUvarint(p, uint64(len(s)))
		p = append(p, s...)
	}
	small := w.enc.EncodeAll(body, nil)
	if len(small) >= len(body) {
		p[1], small = plain, body
	}
	w.write(frames.Append(nil, append(p, small...)))
}

// Read reads an incident. What is damaged is in Lost; only a file whose first
// record cannot be read is an error.
func Read(r io.Reader) (*Incident, error) {
	data, err := io.ReadAll(io.LimitReader(r, mostFile+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading the incident: %w", err)
	case len(data) > mostFile:
		return nil, fmt.Errorf("reading the incident: it has more than %d MiB", mostFile>>20)
	case len(data) < len(magic) || string(data[:len(magic)]) != magic:
		return nil, fmt.Errorf("reading the incident: %w: it does not begin with %q", ErrFormat, magic[:len(magic)-1])
	}
	dec, err := frames.NewDecoder()
	if err != nil {
		return nil, fmt.Errorf("unpacking the incident: %w", err)
	}
	defer dec.Close()
	in := &reader{dec: dec, x: &Incident{}}
	lost := frames.Read(data[len(magic):], int64(len(magic)), in.record)
	if !in.known {
		return nil, fmt.Errorf("reading the incident: its first record cannot be read: %w", ErrFormat)
	}
	for _, l := range lost {
		in.x.Lost = append(in.x.Lost, "the file is damaged: "+l.String()+" are lost")
	}
	if missing := in.x.Meta.Records - in.got; missing > 0 {
		in.x.Lost = append(in.x.Lost, fmt.Sprintf("%d of its %d records are missing", missing, in.x.Meta.Records))
	}
	return in.x, nil
}

type reader struct {
	dec   *frames.Decoder
	x     *Incident
	known bool // the meta record was read
	got   int  // records besides it
	bytes int  // unpacked
}

func (r *reader) record(p []byte) {
	kind, name, mime, body, err := r.unpack(p)
	if err == nil {
		err = r.take(kind, Section{name, mime, body})
	}
	if err != nil {
		r.x.Lost = append(r.x.Lost, fmt.Sprintf("a record cannot be read: %v", err))
	}
}

func (r *reader) unpack(p []byte) (kind byte, name, mime string, body []byte, err error) {
	early := errors.New("it ends too early")
	if len(p) < 2 {
		return 0, "", "", nil, early
	}
	kind, coding := p[0], p[1]
	p = p[2:]
	for _, to := range []*string{&name, &mime} {
		length, n := binary.Uvarint(p)
		if n <= 0 || length > uint64(len(p)-n) {
			return 0, "", "", nil, early
		}
		*to, p = string(p[n:n+int(length)]), p[n+int(length):]
	}
	switch coding {
	case plain:
		body = append([]byte{}, p...)
	case packed:
		if body, err = r.dec.Unpack(p, min(mostRecord, mostAll-r.bytes)); err != nil {
			return 0, "", "", nil, fmt.Errorf("unpacking it: %w", err)
		}
	default:
		return 0, "", "", nil, fmt.Errorf("its coding %d is not known", coding)
	}
	if r.bytes += len(body); r.bytes > mostAll {
		return 0, "", "", nil, fmt.Errorf("the incident has more than %d MiB", mostAll>>20)
	}
	return kind, name, mime, body, nil
}

// take puts a record where it belongs. A kind that a later version writes is
// counted and skipped.
func (r *reader) take(kind byte, s Section) error {
	if kind != kindMeta {
		r.got++
	}
	if (kind == kindMeta || kind == kindSeries) && len(s.Data) > mostJSON {
		return fmt.Errorf("it has %d bytes, more than %d", len(s.Data), mostJSON)
	}
	switch kind {
	case kindMeta:
		if err := json.Unmarshal(s.Data, &r.x.Meta); err != nil {
			return err
		}
		r.known = true
	case kindFinding:
		if !json.Valid(s.Data) {
			return errors.New("the finding is no JSON")
		}
		r.x.Finding = s.Data
	case kindSeries:
		if len(r.x.Series) >= mostSeries {
			return fmt.Errorf("it has more than %d series", mostSeries)
		}
		var one Series
		if err := json.Unmarshal(s.Data, &one); err != nil {
			return err
		}
		r.x.Series = append(r.x.Series, one)
	case kindSection:
		r.x.Sections = append(r.x.Sections, s)
	}
	return nil
}
