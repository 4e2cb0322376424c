package health

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// Commands and pages of the NVM Express Base Specification.
const (
	getLogPage, identify, getFeatures = 0x02, 0x06, 0x0a

	everyNamespace = 0xffffffff
	smartPage      = 0x02
	smartBytes     = 512
	identifyBytes  = 4096
	writeCache     = 0x06 // the feature
)

// logPage asks for a page of the controller's logs.
func logPage(ask Asker, file string, page uint8, size int) ([]byte, error) {
	b := make([]byte, size)
	_, err := ask.NVMe(file, NVMe{getLogPage, everyNamespace, uint32(page) | uint32(size/4-1)<<16}, b)
	return b, err
}

// askNVMe reads what a controller says of its health, and whether its write cache is
// on. Only what it has is asked for: a refused command is an entry in its error log.
func askNVMe(ask Asker, file string) (r reading) {
	b, err := logPage(ask, file, smartPage, smartBytes)
	if err != nil {
		r.err = fmt.Errorf("reading the SMART log of %s: %w", file, err)
		return r
	}
	r.smart(b)
	id := make([]byte, identifyBytes)
	if _, err := ask.NVMe(file, NVMe{identify, 0, 1}, id); err != nil {
		r.err = fmt.Errorf("identifying %s: %w", file, err)
		return r
	}
	there := id[525]&1 != 0 // VWC
	r.cacheThere = &there
	if there {
		result, err := ask.NVMe(file, NVMe{getFeatures, 0, writeCache}, nil)
		if err != nil {
			r.err = fmt.Errorf("asking %s for its write cache: %w", file, err)
			return r
		}
		on := result&1 != 0
		r.cacheOn = &on
	}
	return r
}

// smart reads the SMART / Health Information log page.
func (r *reading) smart(b []byte) {
	for bit, what := range []string{
		"spare blocks low", "temperature out of range", "unreliable", "read-only", "power-loss protection failed", "persistent memory read-only",
	} {
		if b[0]&(1<<bit) != 0 {
			r.warnings = append(r.warnings, what)
		}
	}
	r.warned = true
	if kelvin := binary.LittleEndian.Uint16(b[1:]); kelvin > 0 {
		r.celsius = value(float64(kelvin) - 273)
	}
	r.spare, r.used = value(float64(b[3])/100), value(float64(b[5])/100)
	r.errors = map[string]float64{"media errors": wide(b[160:]), "error log entries": wide(b[176:])}
	minutes := float64(binary.LittleEndian.Uint32(b[192:])) + float64(binary.LittleEndian.Uint32(b[196:]))
	r.hot = value(minutes * 60)
	r.throttled = value(float64(binary.LittleEndian.Uint32(b[224:])) + float64(binary.LittleEndian.Uint32(b[228:])))
}

func value(v float64) *float64 { return &v }

// wide is a counter of 16 bytes.
func wide(b []byte) float64 {
	return float64(binary.LittleEndian.Uint64(b)) + float64(binary.LittleEndian.Uint64(b[8:]))*(1<<64)
}

// Amazon's page of an EBS volume ("Amazon EBS detailed performance statistics" in the
// EBS user guide; the layout is that of nvme-cli's amzn plugin).
const (
	ebsModel = "Amazon Elastic Block Store"
	ebsPage  = 0xd0
	ebsBytes = 4096
	ebsMagic = 0x3c23b510
)

// errNotEBS is a page that is another one.
var errNotEBS = errors.New("the page is not that of a volume's statistics")

// cloud is what a cloud's storage counts, since the volume was attached; times in
// microseconds.
type cloud struct {
	ops, times [2]uint64 // reads, writes
	exceeded   [4]uint64 // as exceededBy names them
	queue      uint64
	bins       []bin
}

// exceededBy is what was asked too much of.
func exceededBy() []string {
	return []string{"volume operations", "volume bytes", "instance operations", "instance bytes"}
}

// bin is one of the latency histograms.
type bin struct {
	op          string
	least, most uint64 // microseconds
	ops         uint64
}

// askEBS reads an EBS volume's statistics.
func askEBS(ask Asker, file string) (*cloud, error) {
	b, err := logPage(ask, file, ebsPage, ebsBytes)
	if err == nil && binary.LittleEndian.Uint32(b) != ebsMagic {
		err = errNotEBS
	}
	if err != nil {
		return nil, fmt.Errorf("reading the volume's statistics from %s: %w", file, err)
	}
	u := func(at int) uint64 { return binary.LittleEndian.Uint64(b[at:]) }
	c := &cloud{ops: [2]uint64{u(8), u(16)}, times: [2]uint64{u(40), u(48)}, exceeded: [4]uint64{u(56), u(64), u(72), u(80)}, queue: u(88)}
	const most, histogram, size = 64, 512, 24
	for i, op := range []string{"read", "write"} {
		at := histogram + i*(8+most*size)
		for k := range min(u(at), most) {
			from := at + 8 + int(k)*size
			c.bins = append(c.bins, bin{op, u(from), u(from + 8), uint64(binary.LittleEndian.Uint32(b[from+16:]))})
		}
	}
	return c, nil
}

// isEBS tells of a volume by what its model is called. No other device is asked for
// the page: it would enter that into its error log.
func isEBS(model []byte) bool { return bytes.HasPrefix(model, []byte(ebsModel)) }
