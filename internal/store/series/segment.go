//go:build !light

package series

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/tsdb/chunks"
	logged "github.com/prometheus/prometheus/tsdb/record"
	"github.com/prometheus/prometheus/util/compression"
)

// The engine's write-ahead log is made of pages of 32 KiB, and those of
// fragments: a byte for type and compression, the length and CRC-32C of what
// follows, big endian. A record is one fragment, or a first, some middle ones
// and a last where it does not fit into a page (tsdb/wlog/wlog.go).
const (
	logPage     = 32 << 10
	logHeader   = 7
	logSnappy   = 1 << 3
	logZstd     = 1 << 4
	logTypeMask = 7
)

const (
	logFull = iota + 1
	logFirst
	logMiddle
	logLast
)

// logRecord is one record of a log as it was logged, and what it is of.
type logRecord struct {
	data           []byte                 // only where it is kept
	named          []chunks.HeadSeriesRef // series that it names; likewise
	values         []logged.RefSample     // likewise
	oldest, newest int64                  // instants of its values; none where it has none
}

// lostBytes are bytes of a segment that are no records. They lie before the
// record of that index.
type lostBytes struct {
	from, to int
	before   int
	atEnd    bool // nothing follows in the segment
}

// segmentReader takes the records out of a segment, all that are whole.
type segmentReader struct {
	b       []byte
	keep    bool // what the records hold
	decoder logged.Decoder
	buffer  compression.DecodeBuffer
	values  []logged.RefSample

	parts []byte // of the record that is being put together
	begun int    // where it began; -1: none
	all   []logRecord
	bad   []lostBytes
}

// readSegment gives the records of a segment, with what they hold or without,
// and the stretches that are none. Where it is damaged it goes on at the next
// fragment whose checksum is right: the engine's own reader gives up there, and
// its repair drops all that follows.
func readSegment(b []byte, keep bool) ([]logRecord, []lostBytes) {
	r := &segmentReader{b: b, keep: keep, begun: -1, buffer: compression.NewSyncDecodeBuffer(),
		decoder: logged.NewDecoder(labels.NewSymbolTable(), quiet(nil))}
	at := 0
	for at < len(b) {
		page := min(at/logPage*logPage+logPage, len(b))
		typ, length, ok := fragment(b[at:page])
		switch {
		case ok:
			r.take(at, typ, b[at+logHeader:at+logHeader+length])
			at += logHeader + length
		case r.padding(at, page):
			at = page
		default:
			next := r.resync(at + 1)
			r.lose(min(at, r.start(at)), next)
			at = next
		}
	}
	if r.begun >= 0 {
		r.lose(r.begun, len(b))
	}
	for i := range r.bad {
		r.bad[i].atEnd = r.bad[i].to == len(b)
	}
	return r.all, r.bad
}

// start is where the record began that an instant in the segment belongs to.
func (r *segmentReader) start(at int) int {
	if r.begun >= 0 {
		return r.begun
	}
	return at
}

// fragment tells the fragment that a page begins with.
func fragment(b []byte) (typ byte, length int, ok bool) {
	if len(b) < logHeader {
		return 0, 0, false
	}
	typ = b[0] & logTypeMask
	length = int(binary.BigEndian.Uint16(b[1:]))
	if typ < logFull || typ > logLast || b[0] > logZstd|logTypeMask || length > len(b)-logHeader {
		return 0, 0, false
	}
	// Only the beginning of a record may be empty: where no more than a header
	// fitted into the page.
	if length == 0 && typ != logFirst {
		return 0, 0, false
	}
	sum := crc32.Checksum(b[logHeader:logHeader+length], crc32.MakeTable(crc32.Castagnoli))
	return b[0], length, sum == binary.BigEndian.Uint32(b[3:])
}

// padding tells whether the rest of a page is zeros as the engine leaves them:
// less than a header where more follows, less than a page at the end.
func (r *segmentReader) padding(at, page int) bool {
	if len(bytes.TrimLeft(r.b[at:page], "\x00")) > 0 || at%logPage == 0 {
		return false
	}
	return page-at < logHeader || page == len(r.b) && page%logPage == 0
}

// resync is where the next fragment is whose checksum is right.
func (r *segmentReader) resync(from int) int {
	for at := from; at < len(r.b); at++ {
		page := min(at/logPage*logPage+logPage, len(r.b))
		if _, length, ok := fragment(r.b[at:page]); ok && length > 0 {
			return at
		}
	}
	return len(r.b)
}

// take adds a fragment to its record.
func (r *segmentReader) take(at int, typ byte, part []byte) {
	kind := typ & logTypeMask
	if first := kind == logFull || kind == logFirst; first != (r.begun < 0) {
		end := at
		if !first {
			end = at + logHeader + len(part) // the end of what began in a lostBytes that is lost
		}
		r.lose(r.start(at), end)
		if !first {
			return
		}
	}
	if r.begun < 0 {
		r.begun = at
	}
	r.parts = append(r.parts, part...)
	if kind == logFull || kind == logLast {
		end := at + logHeader + len(part)
		x, err := r.decode(typ)
		if err != nil {
			r.lose(r.begun, end)
			return
		}
		r.all = append(r.all, x)
		r.parts, r.begun = r.parts[:0], -1
	}
}

// lose notes bytes that are no record, and forgets the record that they are of.
func (r *segmentReader) lose(from, to int) {
	r.parts, r.begun = r.parts[:0], -1
	if n := len(r.bad); n > 0 && r.bad[n-1].before == len(r.all) {
		r.bad[n-1].from, r.bad[n-1].to = min(r.bad[n-1].from, from), max(r.bad[n-1].to, to)
		return
	}
	r.bad = append(r.bad, lostBytes{from: from, to: to, before: len(r.all)})
}

var errRecord = errors.New("not a record of the log")

// decode makes a record of the parts. The checksum does not cover the bits that
// say how they are compressed, so what these say is not believed before the
// record can be read.
func (r *segmentReader) decode(typ byte) (logRecord, error) {
	how := compression.None
	switch {
	case typ&logSnappy != 0:
		how = compression.Snappy
	case typ&logZstd != 0:
		how = compression.Zstd
	}
	x := logRecord{oldest: none, newest: none}
	data, err := compression.Decode(how, r.parts, r.buffer)
	if err != nil {
		return x, err
	}
	if r.keep {
		data = bytes.Clone(data)
		x.data = data
	}
	switch r.decoder.Type(data) {
	case logged.Series:
		all, err := r.decoder.Series(data, nil)
		for _, s := range all {
			x.named = append(x.named, s.Ref)
		}
		return x, err
	case logged.Samples, logged.SamplesV2:
		if r.values, err = r.decoder.Samples(data, r.values[:0]); err != nil {
			return x, err
		}
		for i, v := range r.values {
			if i == 0 || v.T < x.oldest {
				x.oldest = v.T
			}
			x.newest = max(x.newest, v.T)
		}
		if r.keep {
			x.values = slices.Clone(r.values)
		}
		return x, nil
	case logged.MmapMarkers:
		_, err = r.decoder.MmapMarkers(data, nil)
	case logged.Tombstones:
		_, err = r.decoder.Tombstones(data, nil)
	case logged.Metadata:
		_, err = r.decoder.Metadata(data, nil)
	default: // nothing else is logged here: no histograms and no exemplars are recorded
		err = errRecord
	}
	return x, err
}
