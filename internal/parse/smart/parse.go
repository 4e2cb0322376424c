// Package smart reads what a disk keeps account of about itself: smartctl of ATA,
// SCSI and NVMe disks, and the smart-log of nvme.
package smart

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"iocause/internal/parse/lines"
	"iocause/internal/sample"
)

// What can be wrong with a disk, as classes of health.errors; its forecast is a warning.
const (
	unreadable  = "sectors that it cannot read"
	uncorrected = "errors that it could not correct"
	failedTest  = "self-tests that failed"
	forecast    = "its own forecast that it fails"
	below       = "values below the maker's limit"
)

// mostCount is more sectors and errors than are counted one by one: some makers
// put several numbers into one.
const mostCount = 1e8

// Find says where in a line a report begins, or a piece of it that people quote.
func Find(line string) int {
	text := strings.TrimLeft(line, " #>")
	at := len(line) - len(text)
	if heading(text) {
		return at
	}
	if _, ok := attributeOf(text); ok {
		return at
	}
	if key, value, ok := pair(text); ok && says(key, value) {
		return at
	}
	if _, ok := cached(text); ok {
		return at
	}
	return -1
}

// cached reads the state of a write cache as hdparm -W ("write-caching =  0 (off)"),
// smartctl -x and nvme get-feature print it.
func cached(text string) (on, ok bool) {
	text = strings.ToLower(strings.Join(strings.Fields(text[:min(len(text), 256)]), " "))
	for _, by := range []struct {
		is string
		on bool
	}{
		{"write-caching = 0", false}, {"write-caching = 1", true}, {"write cache is: disabled", false}, {"write cache is: enabled", true},
		{"volatile write cache enable (wce): disabled", false}, {"volatile write cache enable (wce): enabled", true},
		{"(volatile write cache), current value:00000000", false}, {"(volatile write cache), current value:0x00000000", false},
		{"(volatile write cache), current value:0x00000001", true}, {"(volatile write cache), current value:00000001", true},
	} {
		if strings.Contains(text, by.is) {
			return by.on, true
		}
	}
	return false, false
}

// heading tells the lines that a report and its parts begin with.
func heading(text string) bool {
	return strings.HasPrefix(text, "smartctl ") && strings.Contains(text, " [") || strings.HasPrefix(text, "=== START OF ") && strings.HasSuffix(strings.TrimSpace(text), " SECTION ===") ||
		strings.HasPrefix(text, "ID# ATTRIBUTE_NAME") || strings.HasPrefix(text, "Smart Log for NVME device") || strings.HasPrefix(text, "SMART/Health Information (NVMe")
}

// attribute is one row of an ATA disk's table.
type attribute struct {
	name    string
	prefail bool
	failing bool // below its limit now
	raw     string
}

// attributeOf reads a row: ID NAME FLAG VALUE WORST THRESH TYPE UPDATED WHEN_FAILED
// RAW, its short form ID NAME FLAGS VALUE WORST THRESH FAIL RAW, or a name and
// raw=VALUE. The raw value is "" in a row that is cut off.
func attributeOf(text string) (attribute, bool) {
	f := strings.Fields(text[:min(len(text), 256)])
	if len(f) < 2 {
		return attribute{}, false
	}
	if at := strings.Index(text, " raw="); at >= 0 && isName(f[0]) {
		a := attribute{name: f[0]}
		if rest := strings.Fields(text[at+len(" raw="):]); len(rest) > 0 {
			a.raw = rest[0]
		}
		return a, true
	}
	if id, err := strconv.Atoi(f[0]); err != nil || id < 1 || id > 255 || !isName(f[1]) || len(f) < 6 {
		return attribute{}, false
	}
	for _, v := range f[3:6] { // values of one byte; --- where there is none
		if n, err := strconv.Atoi(v); v != "---" && (err != nil || n < 0 || n > 255) {
			return attribute{}, false
		}
	}
	a := attribute{name: f[1]}
	if strings.HasPrefix(f[2], "0x") {
		a.prefail = len(f) > 6 && f[6] == "Pre-fail"
		a.failing = len(f) > 8 && strings.HasPrefix(f[8], "FAILING_NOW")
		if len(f) > 9 {
			a.raw = f[9]
		}
		return a, true
	}
	if len(f[2]) != 6 || strings.Trim(f[2], "POSRCK-") != "" {
		return attribute{}, false
	}
	a.prefail = f[2][0] == 'P'
	a.failing = len(f) > 6 && f[6] == "NOW"
	if len(f) > 7 {
		a.raw = f[7]
	}
	return a, true
}

// isName tells names of attributes: Current_Pending_Sector, End-to-End_Error.
func isName(s string) bool {
	return len(s) > 4 && strings.ContainsAny(s, "_") && s[0] >= 'A' && s[0] <= 'Z' &&
		strings.Trim(strings.ToLower(s), "abcdefghijklmnopqrstuvwxyz0123456789_-/") == ""
}

// pair is NAME: VALUE, the name in lower case with _ for blanks.
func pair(text string) (key, value string, ok bool) {
	key, value, ok = strings.Cut(text[:min(len(text), 256)], ":")
	key, value = strings.TrimSpace(key), strings.TrimSpace(value)
	return strings.ReplaceAll(strings.ToLower(key), " ", "_"), value, ok && value != "" && len(key) < 64
}

// says tells the pairs that hold something of interest.
func says(key, value string) bool {
	switch key {
	case "smart_overall-health_self-assessment_test_result":
		return value == "PASSED" || strings.HasPrefix(value, "FAILED")
	case "smart_health_status", "critical_warning", "media_and_data_integrity_errors", "media_errors", "ata_error_count", "elements_in_grown_defect_list":
		return true
	case "percentage_used", "available_spare", "available_spare_threshold":
		return strings.HasSuffix(value, "%")
	}
	return false
}

type reader struct {
	device  string
	full    bool // a report, and not only a piece of it
	any     bool
	faults  map[string]float64
	at      map[string]int // the line of each
	order   []string
	notes   []string
	values  map[string]float64 // of an NVMe disk
	refused int                // the line in which its own check failed
	hot     int                // the line in which it says that it is too hot
	cache   int                // the line that tells of its write cache, which is on or off
	cacheOn bool
}

// New makes a reader; before is the text that precedes the output.
func New(before string) lines.Reader {
	return &reader{device: deviceIn(before), faults: map[string]float64{}, at: map[string]int{}, values: map[string]float64{}}
}

// unnamed stands for a disk of which the text does not say which it is.
const unnamed = "disk"

// deviceIn is the last disk that a text names.
func deviceIn(s string) string {
	for at := len(s); ; {
		if at = strings.LastIndex(s[:at], "/dev/"); at < 0 {
			return unnamed
		}
		name := s[at+len("/dev/"):]
		if end := strings.IndexFunc(name, func(r rune) bool { return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9') }); end >= 0 {
			name = name[:end]
		}
		if len(name) > 2 && len(name) < 32 && name != "null" && name != "zero" && name != "urandom" && name != "random" && name != "mapper" && name != "disk" {
			return name
		}
	}
}

// Line implements lines.Reader.
func (r *reader) Line(l lines.Line, into lines.Values) (lines.Use, error) {
	text := strings.TrimLeft(strings.TrimSpace(l.Text), "# ")
	switch {
	case text == "":
		return lines.Skipped, nil
	case strings.HasPrefix(text, "smartctl ") && heading(text), strings.HasPrefix(text, "Smart Log for NVME device"):
		if r.any {
			return lines.Another, nil
		}
		r.full = true
		if _, name, ok := strings.Cut(text, "NVME device:"); ok {
			r.device, _, _ = strings.Cut(name, " ")
		}
		return lines.Skipped, nil
	case heading(text):
		r.full = true
		return lines.Skipped, nil
	}
	into.At(l.N)
	if on, ok := cached(text); ok {
		if r.cache > 0 && r.cacheOn != on {
			return lines.Another, nil
		}
		r.any, r.cache, r.cacheOn = true, l.N, on
		return lines.Used, nil
	}
	if a, ok := attributeOf(text); ok {
		return r.attribute(&a, l.N)
	}
	if key, value, ok := pair(text); ok && says(key, value) {
		return r.pair(key, value, l.N)
	}
	if n, ok := uncorrectedOf(text); ok {
		r.fault(uncorrected, n, l.N)
		return lines.Used, nil
	}
	if strings.Contains(text, "Completed: read failure") || strings.Contains(text, "Completed: servo/seek failure") || strings.Contains(text, "Completed: electrical failure") ||
		strings.Contains(text, "Failed in segment") {
		r.fault(failedTest, 1, l.N)
		return lines.Used, nil
	}
	r.name(text)
	if r.full && (strings.HasPrefix(l.Text, "\t") || strings.HasPrefix(l.Text, "        ") || known(text)) {
		return lines.Skipped, nil
	}
	return lines.Foreign, nil
}

// name names the disk by its model where the text does not say which it is.
func (r *reader) name(text string) {
	key, value, ok := pair(text)
	if ok && r.device == unnamed && (key == "device_model" || key == "product" || key == "model_number") {
		r.device = value[:min(len(value), 64)]
	}
}

// uncorrectedOf reads a row of the error counters of a SCSI disk, whose last
// column is the errors that were not corrected.
func uncorrectedOf(text string) (float64, bool) {
	f := strings.Fields(text)
	if len(f) != 8 || f[0] != "read:" && f[0] != "write:" && f[0] != "verify:" {
		return 0, false
	}
	n, ok := lines.Number(f[7])
	return n, ok && n < mostCount
}

func (r *reader) fault(class string, n float64, line int) {
	if _, ok := r.faults[class]; !ok {
		r.order = append(r.order, class)
	}
	if n > 0 || r.at[class] == 0 {
		r.at[class] = line
	}
	r.faults[class] += n
	r.any = true
}

// attribute takes a row of the table of an ATA disk.
func (r *reader) attribute(a *attribute, line int) (lines.Use, error) {
	r.full = true
	if a.failing && a.prefail {
		r.fault(below, 1, line)
	}
	interest := []string{"Pending_Sector", "Offline_Uncorrect", "Reported_Uncorrect", "Uncorrectable_Error", "Reallocated_Sector", "CRC_Error"}
	at := slices.IndexFunc(interest, func(part string) bool { return strings.Contains(a.name, part) })
	if at < 0 {
		return lines.Skipped, nil
	}
	n, ok := lines.Number(a.raw)
	if !ok {
		return lines.Broken, fmt.Errorf("the raw value of %s is %.20q, not a number", a.name, a.raw)
	}
	if n > mostCount {
		r.note(fmt.Sprintf("%s is %.0f, which cannot be a count: it is left out", a.name, n))
		return lines.Used, nil
	}
	switch r.any = true; at {
	case 0, 1: // the same sectors, found by reading and by looking for them
		if more := n - r.faults[unreadable]; more > 0 || n == 0 {
			r.fault(unreadable, max(0, more), line)
		}
	case 2, 3:
		r.fault(uncorrected, n, line)
	case 4:
		if n > 0 {
			r.note(fmt.Sprintf("%s has reallocated %s (%s)", r.device, sample.Counted(n, "sector"), a.name))
		}
	case 5:
		if n > 0 {
			r.note(fmt.Sprintf("%s to or from %s failed on the cable (%s): check the cable", sample.Counted(n, "transfer"), r.device, a.name))
		}
	}
	return lines.Used, nil
}

func (r *reader) pair(key, value string, line int) (lines.Use, error) {
	r.any = true
	switch key {
	case "smart_overall-health_self-assessment_test_result":
		if strings.HasPrefix(value, "FAILED") {
			r.refused = line
		} else {
			r.fault(forecast, 0, line)
		}
		return lines.Used, nil
	case "smart_health_status":
		if value == "OK" {
			r.fault(forecast, 0, line)
			return lines.Used, nil
		}
		r.fault(forecast, 1, line)
		r.note(fmt.Sprintf("%s reports: %.80s", r.device, value))
		return lines.Used, nil
	}
	word, _, _ := strings.Cut(strings.TrimSuffix(strings.Fields(value)[0], "%"), "%")
	word = strings.ReplaceAll(word, ",", "") // 1,234: these are whole numbers
	n, ok := lines.Number(word)
	if v, err := strconv.ParseUint(word, 0, 32); err == nil { // 0x04
		n, ok = float64(v), true
	}
	if !ok {
		return lines.Broken, fmt.Errorf("%s is %.20q, not a number", key, value)
	}
	switch key {
	case "media_and_data_integrity_errors", "media_errors":
		r.fault(uncorrected, min(n, mostCount), line)
	case "ata_error_count":
		if n > 0 {
			r.note(fmt.Sprintf("%s has logged %s of commands, including unsupported commands", r.device, sample.Counted(n, "error")))
		}
	case "elements_in_grown_defect_list":
		if n > 0 {
			r.note(fmt.Sprintf("%s has reallocated %s", r.device, sample.Counted(n, "sector")))
		}
	default:
		r.values[key] = n
		if key == "critical_warning" {
			r.at[key] = line
		}
	}
	return lines.Used, nil
}

func (r *reader) note(s string) {
	if len(r.notes) < 16 {
		r.notes = append(r.notes, s)
	}
}

// Close implements lines.Reader.
func (r *reader) Close(into lines.Values) {
	if !r.any {
		return
	}
	into.State()
	if r.warning(); r.refused > 0 {
		r.fault(forecast, 1, r.refused)
	}
	for _, class := range r.order {
		into.At(r.at[class])
		if class != forecast {
			into.Put(sample.HealthErrors, sample.Entity{Device: r.device, Class: class}, r.faults[class])
			continue
		}
		r.warn(into, "failing", min(1, r.faults[class]))
	}
	if r.hot > 0 {
		into.At(r.hot)
		r.warn(into, "too hot", 1)
	}
	if r.cache > 0 {
		into.At(r.cache)
		into.Put(sample.DeviceCacheThere, sample.Entity{Device: r.device}, 1)
		on := 0.0
		if r.cacheOn {
			on = 1
		}
		into.Put(sample.DeviceCacheOn, sample.Entity{Device: r.device}, on)
	}
	for _, n := range r.notes {
		into.Note(n)
	}
}

// warn says whether the disk warns of something.
func (r *reader) warn(into lines.Values, what string, n float64) {
	into.Put(sample.HealthWarnings, sample.Entity{Device: r.device}, n)
	if n > 0 {
		into.Put(sample.HealthWarnings, sample.Entity{Device: r.device, Class: what}, 1)
	}
}

// warning takes the critical warning of an NVMe disk (NVM Express Base
// Specification, SMART / Health Information log page, byte 0). Bit 2 is set, and
// the health check fails, as well where the disk has only written as much as its
// maker promised, which no request fails of.
func (r *reader) warning() {
	bits := uint64(r.values["critical_warning"])
	used := r.values["percentage_used"]
	worn := bits == 1<<2 && used >= 100 && r.faults[uncorrected] == 0
	switch {
	case worn:
		r.refused = 0
		r.note(fmt.Sprintf("%s has used up its rated endurance (%.0f %%): a warning, not a failure", r.device, used))
	case bits&(1<<0|1<<2|1<<3) != 0: // no spare blocks, errors inside, read-only
		r.fault(forecast, 1, r.at["critical_warning"])
		r.refused = 0
	}
	if bits&(1<<1) != 0 {
		r.hot = r.at["critical_warning"]
		r.note(fmt.Sprintf("%s is too hot or too cold: it may throttle itself", r.device))
	}
}

// known tells the lines of a report that hold nothing of interest.
func known(text string) bool {
	for _, part := range []string{
		"SMART", "elf-test", "ffline", "Selective", "elective", "logging", "SCT ", "apabilit", "olling time", "ector Size", "LBA Size", "Capacity", "Utilization", "Device Model", "Model Family",
		"Model Number", "Serial ", "WWN", "Firmware", "otation Rate", "Form Factor", "Device is:", "Version is", "Version:", "Local Time", "Copyright (C)", "TRIM Command", "Vendor:", "Product:",
		"Revision:", "Compliance:", "block size", "Logical Unit id", "LU is fully", "Device type", "Transport protocol", "Temperature", "temperature", "Temp.", "Temp_", "Namespace", "PCI Vendor", "IEEE ",
		"Controller", "Admin Commands", "NVM Commands", "Log Page", "Data Transfer Size", "Power State", "St Op ", "Id Fmt", "Data Units", "data_units", "Host Read", "Host Write", "host_read", "host_write",
		"controller_busy", "Power Cycles", "Power On", "power_", "unsafe_", "Unsafe", "Error Information", "num_err", "endurance group", "Thermal Management", "Vendor Specific", "No Errors Logged",
		"Error counter log", "Errors Corrected by", "rereads/", "fast | delayed", "data collection:", "defect list", "Non-medium error", "start-stop", "load-unload", "Manufactured in", "Accumulated", "Num  Test_Description", "Num Test_Description", "SPAN  ", "Supported ", "||||", "supported", "was never started", "was completed",
	} {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}
