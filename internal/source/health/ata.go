package health

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
)

// Commands of the ATA/ATAPI Command Set, and features of SMART.
const (
	checkPower, identifyATA, smart    = 0xe5, 0xec, 0xb0
	smartData, smartStatus            = 0xd0, 0xda
	smartMid, smartHigh, failingMid   = 0x4f, 0xc2, 0xf4
	sector, attributes, attributeSize = 512, 30, 12
)

// askATA asks a disk how it is, unless it is in standby: whether it is, it says
// without waking up.
func askATA(ask Asker, file string) (r reading) {
	power, err := ask.ATA(file, ATA{Command: checkPower}, nil)
	if err != nil {
		r.err = fmt.Errorf("asking %s whether it sleeps: %w", file, err)
		return r
	}
	switch power.Count { // standby, standby_y, and spun down with the NV cache in use
	case 0x00, 0x01, 0x40:
		r.asleep = true
		return r
	}
	id := make([]byte, sector)
	if _, err := ask.ATA(file, ATA{Command: identifyATA, Data: true}, id); err != nil {
		r.err = fmt.Errorf("identifying %s: %w", file, err)
		return r
	}
	word := func(n int) uint16 { return binary.LittleEndian.Uint16(id[2*n:]) }
	const hasSMART, hasCache = 1 << 0, 1 << 5 // of word 82, and of 85 that it is on
	if there := word(82)&hasCache != 0; word(82) != 0 && word(82) != 0xffff {
		on := word(85)&hasCache != 0
		r.cacheThere = &there
		if there {
			r.cacheOn = &on
		}
	}
	if word(82)&word(85)&hasSMART == 0 {
		return r // it has none, or it is switched off
	}
	status, err := ask.ATA(file, ATA{Command: smart, Feature: smartStatus, LBAMid: smartMid, LBAHigh: smartHigh}, nil)
	if err != nil {
		r.err = fmt.Errorf("asking %s whether it is about to fail: %w", file, err)
		return r
	}
	r.warned = true
	if status.LBAMid == failingMid {
		r.warnings = append(r.warnings, "failing")
	}
	data := make([]byte, sector)
	if _, err := ask.ATA(file, ATA{Command: smart, Feature: smartData, LBAMid: smartMid, LBAHigh: smartHigh, Data: true}, data); err != nil {
		r.err = fmt.Errorf("reading the SMART attributes of %s: %w", file, err)
		return r
	}
	r.attributes(data)
	const noRotation = 1
	if word(217) == noRotation {
		r.wear(model(id), data)
	}
	return r
}

// model is the name that a disk gives itself: words 27 to 46, two letters in each, the
// first in the upper byte.
func model(id []byte) string {
	b := bytes.Clone(id[2*27 : 2*47])
	for i := 0; i < len(b); i += 2 {
		b[i], b[i+1] = b[i+1], b[i]
	}
	return strings.TrimSpace(string(b))
}

// wearAttributes are the attributes that tell how worn an SSD is, by how models of the
// vendor begin. Each counts its remaining life down from 100 in its normalised value
// (smartmontools' drivedb.h; of 202 Micron's TN-FD-34); with other vendors the same
// numbers may mean something else.
func wearAttributes() map[string]uint8 {
	return map[string]uint8{
		"Micron": 202, "MTFD": 202, "Crucial": 202, "CT": 202,
		"INTEL": 233, "KINGSTON": 231, "SAMSUNG": 177, "Samsung": 177,
	}
}

// wear reads how much of its life an SSD has used; unknown of other vendors.
func (r *reading) wear(model string, b []byte) {
	for vendor, id := range wearAttributes() {
		if !strings.HasPrefix(model, vendor) {
			continue
		}
		for i := range attributes {
			if a := b[2+i*attributeSize:]; a[0] == id && a[3] <= 100 {
				r.used = value(1 - float64(a[3])/100)
			}
		}
	}
}

// attributes reads the counters that mean the same with all vendors. Of their six raw
// bytes the lower four are the count; some vendors keep other things above.
func (r *reading) attributes(b []byte) {
	r.errors = map[string]float64{}
	for i := range attributes {
		a := b[2+i*attributeSize:]
		raw := binary.LittleEndian.Uint32(a[5:])
		switch a[0] {
		case 5:
			r.errors["reallocated sectors"] = float64(raw)
		case 187:
			r.errors["uncorrected errors"] = float64(raw)
		case 197:
			r.errors["pending sectors"] = float64(raw)
		case 198:
			r.errors["uncorrectable sectors"] = float64(raw)
		case 199:
			r.errors["CRC errors of the cable"] = float64(raw)
		case 194:
			r.celsius = value(float64(raw & 0xff))
		}
	}
}
