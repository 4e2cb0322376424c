package health

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"iocause/internal/host"
	"iocause/internal/sample"
)

// drive stands in for the ioctls of devices that this machine lacks.
type drive struct {
	log, page []byte // SMART log, statistics of an EBS volume
	vwc, on   bool
	power     uint8 // what CHECK POWER MODE answers
	id, data  []byte
	failing   bool
	err       error
	hang      chan struct{} // closed when it answers
	asked     []string
	calls     atomic.Int32
}

func (d *drive) NVMe(_ string, c NVMe, into []byte) (uint32, error) {
	d.calls.Add(1)
	if d.hang != nil {
		<-d.hang
	}
	d.asked = append(d.asked, fmt.Sprintf("%#x %#x", c.Opcode, c.CDW10))
	if d.err != nil {
		return 0, d.err
	}
	switch {
	case c.Opcode == getLogPage && c.CDW10&0xff == smartPage:
		copy(into, d.log)
	case c.Opcode == getLogPage && c.CDW10 == ebsPage|1023<<16:
		copy(into, d.page)
	case c.Opcode == identify && d.vwc:
		into[525] = 1
	case c.Opcode == getFeatures && d.on:
		return 1, nil
	}
	return 0, nil
}

func (d *drive) ATA(_ string, c ATA, into []byte) (ATAResult, error) {
	d.asked = append(d.asked, fmt.Sprintf("%#x %#x", c.Command, c.Feature))
	if d.err != nil {
		return ATAResult{}, d.err
	}
	switch {
	case c.Command == checkPower:
		return ATAResult{Count: d.power}, nil
	case c.Command == identifyATA:
		copy(into, d.id)
	case c.Feature == smartData:
		copy(into, d.data)
	case c.Feature == smartStatus && d.failing:
		return ATAResult{LBAMid: 0xf4, LBAHigh: 0x2c}, nil
	}
	return ATAResult{LBAMid: smartMid, LBAHigh: smartHigh}, nil
}

// machineWith is a captured machine with these disks: names to files below them.
func machineWith(t *testing.T, disks map[string]map[string]string) *host.Host {
	t.Helper()
	root := t.TempDir()
	minor := 0
	for name, files := range disks {
		all := map[string]string{"dev": fmt.Sprintf("8:%d", minor), "size": "2048"}
		minor++
		for file, text := range files {
			all[file] = text
		}
		for file, text := range all {
			path := filepath.Join(root, "sys/block", name, file)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text+"\n"), 0o444); err != nil {
				t.Fatal(err)
			}
		}
	}
	return host.Tree(root, time.Now)
}

func observe(t *testing.T, h *host.Host, ask Asker, between func()) *sample.Window {
	t.Helper()
	s, err := New(h, ask)
	if err != nil {
		t.Fatal(err)
	}
	r := sample.NewRecorder(time.Now())
	for _, phase := range []sample.Phase{sample.First, sample.Tick, sample.Last} {
		if err := s.Collect(phase, r); err != nil {
			t.Error(err)
		}
		if phase == sample.Tick && between != nil {
			between()
		}
	}
	return r.Window(time.Now())
}

func nvmeLog(warning uint8, mediaErrors uint64) []byte {
	b := make([]byte, smartBytes)
	b[0] = warning
	binary.LittleEndian.PutUint16(b[1:], 273+71)
	b[3], b[5] = 90, 104 // spare, used
	binary.LittleEndian.PutUint64(b[160:], mediaErrors)
	binary.LittleEndian.PutUint64(b[176:], 7)
	binary.LittleEndian.PutUint32(b[192:], 2) // minutes
	binary.LittleEndian.PutUint32(b[224:], 30)
	return b
}

func expect(t *testing.T, w *sample.Window, m sample.Metric, class string, device string, want float64) {
	t.Helper()
	if got, ok := w.Value(m, sample.Entity{Device: device, Class: class}); !ok || got != want {
		t.Errorf("%s %q of %s is %v (%v), want %v", m, class, device, got, ok, want)
	}
}

func TestNVMe(t *testing.T) {
	d := &drive{log: nvmeLog(1<<0|1<<4, 3), vwc: true, on: false}
	w := observe(t, machineWith(t, map[string]map[string]string{"nvme0n1": {"device/model": "QEMU NVMe Ctrl"}}), d,
		func() { d.log = nvmeLog(0, 5) })
	expect(t, w, sample.HealthWarnings, "", "nvme0n1", 0)
	expect(t, w, sample.HealthErrors, "media errors", "nvme0n1", 5)
	expect(t, w, sample.HealthErrors, "error log entries", "nvme0n1", 7)
	expect(t, w, sample.HealthCelsius, "", "nvme0n1", 71)
	expect(t, w, sample.HealthUsed, "", "nvme0n1", 1.04)
	expect(t, w, sample.HealthSpare, "", "nvme0n1", 0.9)
	expect(t, w, sample.HealthHot, "", "nvme0n1", 120)
	expect(t, w, sample.HealthThrottled, "", "nvme0n1", 30)
	expect(t, w, sample.DeviceCacheThere, "", "nvme0n1", 1)
	expect(t, w, sample.DeviceCacheOn, "", "nvme0n1", 0)
	first := w.Get(sample.HealthWarnings, sample.Entity{Device: "nvme0n1"})
	if first.Points[0].Value != 2 || w.Get(sample.HealthWarnings, sample.Entity{Device: "nvme0n1", Class: "power-loss protection failed"}) == nil {
		t.Errorf("the warnings at the start: %v", first.Points)
	}
	if rose := w.Get(sample.HealthErrors, sample.Entity{Device: "nvme0n1", Class: "media errors"}); rose.Points[0].Value != 3 {
		t.Errorf("media errors at the start: %v", rose.Points)
	}
	if len(w.Gaps) > 0 {
		t.Error(w.Gaps)
	}
}

// A refused command is an entry in a controller's error log: no other than an EBS
// volume is asked for its page, and none without a write cache whether that is on.
func TestAsksOnlyWhatThereIs(t *testing.T) {
	d := &drive{log: nvmeLog(0, 0)}
	w := observe(t, machineWith(t, map[string]map[string]string{"nvme0n1": {"device/model": "Samsung"}}), d, nil)
	if want := []string{"0x2 0x7f0002", "0x6 0x1", "0x2 0x7f0002", "0x6 0x1"}; !slices.Equal(d.asked, want) {
		t.Errorf("asked %q, want %q", d.asked, want)
	}
	expect(t, w, sample.DeviceCacheThere, "", "nvme0n1", 0)
	if w.Has(sample.DeviceCacheOn) || w.Has(sample.CloudExceeded) {
		t.Error("figures of what it does not have")
	}
}

func ebs(exceeded [4]uint64, reads, bins uint64) []byte {
	b := make([]byte, ebsBytes)
	binary.LittleEndian.PutUint32(b, ebsMagic)
	put := func(at int, v uint64) { binary.LittleEndian.PutUint64(b[at:], v) }
	put(8, reads)
	put(40, reads*2000)
	for i, v := range exceeded {
		put(56+8*i, v)
	}
	put(88, 17)
	put(512, bins)
	put(520, 1024)
	put(528, 2048)
	binary.LittleEndian.PutUint32(b[536:], uint32(reads))
	return b
}

// The vendor's page is emulated: there is no such volume here.
func TestEBS(t *testing.T) {
	d := &drive{log: nvmeLog(0, 0), page: ebs([4]uint64{5e6, 0, 9, 0}, 100, 2)}
	w := observe(t, machineWith(t, map[string]map[string]string{"nvme1n1": {"device/model": "Amazon Elastic Block Store              "}}), d,
		func() { d.page = ebs([4]uint64{8.5e6, 0, 9, 250}, 350, 2) })
	for class, want := range map[string]float64{"volume operations": 3.5, "volume bytes": 0, "instance operations": 0, "instance bytes": 250e-6} {
		if got, ok := w.Sum(sample.CloudExceeded, sample.Entity{Device: "nvme1n1", Class: class}); !ok || got != want {
			t.Errorf("exceeded %s: %v (%v), want %v s", class, got, ok, want)
		}
	}
	e := sample.Entity{Device: "nvme1n1", Class: "read"}
	if n, _ := w.Sum(sample.CloudOps, e); n != 250 {
		t.Errorf("%v reads, want 250", n)
	}
	if s, _ := w.Sum(sample.CloudTime, e); s != 0.5 {
		t.Errorf("%v s of reads, want 0.5", s)
	}
	if n, _ := w.Sum(sample.CloudBinOps, sample.Entity{Device: "nvme1n1", Class: "read 1024-2048"}); n != 250 {
		t.Errorf("%v reads of 1 to 2 ms, want 250", n)
	}
	expect(t, w, sample.CloudQueue, "", "nvme1n1", 17)
	// more bins than the page has room for, and a page that is another one
	if _, err := askEBS(&drive{page: ebs([4]uint64{}, 1, 1<<60)}, "/dev/x"); err != nil {
		t.Error(err)
	}
	if _, err := askEBS(&drive{page: make([]byte, ebsBytes)}, "/dev/x"); !errors.Is(err, errNotEBS) {
		t.Errorf("a foreign page: %v", err)
	}
}

func identity(supported, enabled uint16) []byte {
	b := make([]byte, sector)
	binary.LittleEndian.PutUint16(b[2*82:], supported)
	binary.LittleEndian.PutUint16(b[2*85:], enabled)
	return b
}

func TestATA(t *testing.T) {
	data := make([]byte, sector)
	for i, a := range [][2]uint32{{5, 12}, {194, 0x00300025}, {197, 8}, {198, 2}} {
		data[2+12*i] = byte(a[0])
		binary.LittleEndian.PutUint32(data[2+12*i+5:], a[1])
	}
	files := map[string]map[string]string{"sda": {"device/vendor": "ATA     ", "removable": "0"}}
	w := observe(t, machineWith(t, files), &drive{power: 0xff, id: identity(1<<5|1, 1), data: data, failing: true}, nil)
	expect(t, w, sample.HealthWarnings, "", "sda", 1)
	expect(t, w, sample.HealthWarnings, "failing", "sda", 1)
	expect(t, w, sample.HealthErrors, "reallocated sectors", "sda", 12)
	expect(t, w, sample.HealthErrors, "pending sectors", "sda", 8)
	expect(t, w, sample.HealthErrors, "uncorrectable sectors", "sda", 2)
	expect(t, w, sample.HealthCelsius, "", "sda", 37)
	expect(t, w, sample.DeviceCacheThere, "", "sda", 1)
	expect(t, w, sample.DeviceCacheOn, "", "sda", 0)
	expect(t, w, sample.HealthAsleep, "", "sda", 0)
}

// An SSD of a known vendor tells what is left of its life; what the number means with
// others, and what it is on a disk that rotates, is not guessed.
func TestWearOfATA(t *testing.T) {
	for _, c := range []struct {
		model    string
		rotation uint16 // word 217: 1 is none
		id, left byte
		known    bool
	}{
		{"Micron_5300_MTFDDAK960TDS", 1, 202, 93, true},
		{"CT1000MX500SSD1", 1, 202, 93, true},
		{"INTEL SSDSC2KB960G8", 1, 233, 93, true},
		{"SAMSUNG MZ7LH960HAJR-00005", 1, 177, 93, true},
		{"KINGSTON SEDC500M960G", 1, 231, 93, true},
		{"WDC WDS240G2G0A-00JH30", 1, 231, 93, false},
		{"SAMSUNG HD103SJ", 7200, 177, 93, false},
		{"INTEL SSDSC2KB960G8", 1, 233, 255, false}, // no percentage
		{"INTEL SSDSC2KB960G8", 1, 202, 93, false},
	} {
		id, data := identity(1<<5|1, 1), make([]byte, sector)
		for i, b := range []byte(fmt.Sprintf("%-40s", c.model)) {
			id[2*27+i^1] = b
		}
		binary.LittleEndian.PutUint16(id[2*217:], c.rotation)
		data[2+12], data[2+12+3], data[2+12+4] = c.id, c.left, 1
		files := map[string]map[string]string{"sda": {"device/vendor": "ATA     ", "removable": "0"}}
		w := observe(t, machineWith(t, files), &drive{power: 0xff, id: id, data: data}, nil)
		used, ok := w.Value(sample.HealthUsed, sample.Entity{Device: "sda"})
		if ok != c.known || ok && (used < 0.0699 || used > 0.0701) {
			t.Errorf("%s, attribute %d at %d: used %v (%v), want 0.07 (%v)", c.model, c.id, c.left, used, ok, c.known)
		}
	}
}

func TestSleepingDisksAreLeftAsleep(t *testing.T) {
	d := &drive{power: 0}
	files := map[string]map[string]string{"sda": {"device/vendor": "ATA", "removable": "0"}}
	w := observe(t, machineWith(t, files), d, nil)
	expect(t, w, sample.HealthAsleep, "", "sda", 1)
	if want := []string{"0xe5 0x0", "0xe5 0x0"}; !slices.Equal(d.asked, want) {
		t.Errorf("a disk in standby was asked %q", d.asked)
	}
	files["sda"]["device/power/runtime_status"] = "suspended"
	d = &drive{power: 0xff}
	expect(t, observe(t, machineWith(t, files), d, nil), sample.HealthAsleep, "", "sda", 1)
	if len(d.asked) > 0 {
		t.Errorf("a disk that the kernel has suspended was asked %q", d.asked)
	}
}

func TestOthersAreNotAsked(t *testing.T) {
	d := &drive{power: 0xff}
	w := observe(t, machineWith(t, map[string]map[string]string{
		"sda": {"device/vendor": "SEAGATE"}, "sdb": {"device/vendor": "ATA", "removable": "1"}, "dm-0": {}, "loop0": {},
	}), d, nil)
	if len(d.asked) > 0 || len(w.Gaps) > 0 {
		t.Errorf("asked %q, gaps %v", d.asked, w.Gaps)
	}
}

func TestRefused(t *testing.T) {
	w := observe(t, machineWith(t, map[string]map[string]string{"nvme0n1": {"device/model": "x"}}), &drive{err: unix.EACCES}, nil)
	if why := w.WhyAbsent(sample.HealthWarnings); !strings.Contains(why, "nvme0n1: permission denied") || !strings.Contains(why, "CAP_SYS_ADMIN") {
		t.Errorf("why health is not known: %q", why)
	}
}

// A device that does not answer holds nothing up, is asked once, and is heard when
// it answers.
func TestHangs(t *testing.T) {
	d := &drive{log: nvmeLog(1<<1, 0), hang: make(chan struct{})}
	s, err := New(machineWith(t, map[string]map[string]string{"nvme0n1": {"device/model": "x"}}), d)
	if err != nil {
		t.Fatal(err)
	}
	r := sample.NewRecorder(time.Now())
	for _, phase := range []sample.Phase{sample.First, sample.IntervalEnd, sample.IntervalEnd} {
		began := time.Now()
		if err := s.Collect(phase, r); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > 4*wait {
			t.Errorf("a collection took %v", took)
		}
	}
	if n := d.calls.Load(); n != 1 {
		t.Errorf("asked %d times while it hangs", n)
	}
	w := r.Window(time.Now())
	if why := w.WhyAbsent(sample.HealthWarnings); !strings.Contains(why, "nvme0n1 has not answered yet") {
		t.Errorf("why health is not known: %q", why)
	}
	close(d.hang)
	for range 100 {
		r = sample.NewRecorder(time.Now())
		if err := s.Collect(sample.IntervalEnd, r); err != nil {
			t.Error(err)
		}
		if w = r.Window(time.Now()); w.Has(sample.HealthWarnings) {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	expect(t, w, sample.HealthWarnings, "temperature out of range", "nvme0n1", 1)
}

// Devices of other kinds cost a name each, however many they are, and of those that
// are asked there is a bound.
func TestManyDevices(t *testing.T) {
	disks := map[string]map[string]string{}
	for i := range 1000 {
		disks[fmt.Sprintf("dm-%d", i)] = nil
	}
	for i := range most + 2 {
		disks[fmt.Sprintf("nvme%dn1", i)] = map[string]string{"device/model": "x"}
	}
	h := machineWith(t, disks)
	s, err := New(h, &many{log: nvmeLog(0, 0)})
	if err != nil {
		t.Fatal(err)
	}
	r := sample.NewRecorder(time.Now())
	began := time.Now()
	for _, phase := range []sample.Phase{sample.First, sample.Last} {
		if err := s.Collect(phase, r); err != nil {
			t.Error(err)
		}
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("two collections took %v", took)
	}
	w := r.Window(time.Now())
	n := 0
	w.Each(sample.HealthWarnings, func(sample.Entity, *sample.Series) { n++ })
	if n != most {
		t.Errorf("%d devices answered, want %d", n, most)
	}
	if len(w.Gaps) == 0 || !strings.Contains(w.Gaps[0].Why, "2 more disks were not asked") {
		t.Errorf("gaps: %v", w.Gaps)
	}
}

// many answers the same to all.
type many struct{ log []byte }

func (m *many) NVMe(_ string, c NVMe, into []byte) (uint32, error) {
	if c.Opcode == getLogPage {
		copy(into, m.log)
	}
	return 0, nil
}

func (m *many) ATA(string, ATA, []byte) (ATAResult, error) { return ATAResult{}, unix.ENOTTY }

func TestVirtioCache(t *testing.T) {
	h := machineWith(t, map[string]map[string]string{"vda": {"cache_type": "write through"}, "vdb": {"cache_type": "write back"}})
	if err := os.Chmod(h.Sys("block", "vda", "cache_type"), 0o644); err != nil {
		t.Fatal(err)
	}
	w := observe(t, h, &drive{}, nil)
	expect(t, w, sample.DeviceCacheThere, "", "vda", 1)
	expect(t, w, sample.DeviceCacheOn, "", "vda", 0)
	if w.Get(sample.DeviceCacheThere, sample.Entity{Device: "vdb"}) != nil {
		t.Error("a cache that cannot be switched is not known to be there")
	}
}

func TestRegisters(t *testing.T) {
	descriptor := make([]byte, 22)
	descriptor[0], descriptor[8], descriptor[13], descriptor[17], descriptor[19], descriptor[21] = 0x72, 9, 0xff, 0xf4, 0x2c, 0x50
	fixed := []byte{0x70, 0, 1, 0, 0x50, 0, 0xff, 0, 0, 0, 0xf4, 0x2c}
	for _, sense := range [][]byte{descriptor, fixed} {
		if r, err := registers(smart, sense); err != nil || r != (ATAResult{0xff, 0xf4, 0x2c}) {
			t.Errorf("%x: %v, %v", sense, r, err)
		}
	}
	descriptor[21] = 0x51
	for _, sense := range [][]byte{descriptor, nil, {0x72}} {
		if _, err := registers(smart, sense); err == nil {
			t.Errorf("%x is taken for an answer", sense)
		}
	}
}
