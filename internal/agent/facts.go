package agent

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"iocause/internal/host"
	"iocause/internal/sample"
	"iocause/internal/store/series"
)

const (
	hostInfo sample.Metric = "host.info"
	// hostSettings stand apart: VictoriaMetrics drops what exceeds thirty labels of a
	// series, those that are sent along and the name included.
	hostSettings sample.Metric = "host.settings"
	deviceInfo   sample.Metric = "device.info"

	factsEvery  = 10 * time.Minute
	mostDevices = 64 // that have a series of facts
	longestFact = 64 // bytes of a label's value
)

// facts are what the host is, as series that stand at 1 and have it in their
// labels, so that a store of many hosts can tell which settings go with which
// cause. Used by one goroutine.
type facts struct {
	host    *host.Host
	log     *slog.Logger
	program string
	said    bool // that something cannot be read
	read    time.Time
	all     map[string]*series.Series // by all their labels
}

func newFacts(h *host.Host, log *slog.Logger, program string) *facts {
	return &facts{host: h, log: log, program: program}
}

// take is what holds now, and what did before and does not any more.
func (f *facts) take() (values []series.Value, ended []*series.Series) {
	if now := f.host.Now(); f.all == nil || now.Sub(f.read).Abs() >= factsEvery {
		f.read = now
		ended = f.look()
	}
	for _, key := range slices.Sorted(maps.Keys(f.all)) {
		values = append(values, series.Value{Of: f.all[key], V: 1})
	}
	return values, ended
}

// look reads the fingerprint. A series whose labels have not changed goes on.
func (f *facts) look() (ended []*series.Series) {
	print, err := f.host.Fingerprint()
	if err != nil && !f.said {
		f.log.Warn("some facts about the host cannot be read", "why", err)
		f.said = true
	}
	next := map[string]*series.Series{}
	put := func(m sample.Metric, labels []series.Label) {
		key := fmt.Sprint(m, labels)
		if next[key] = f.all[key]; next[key] == nil {
			next[key] = series.New(series.NameOf(sample.Info{Metric: m, Unit: sample.Count, Kind: sample.Gauge}), labels...)
		}
	}
	is, set := f.ofHost(&print)
	put(hostInfo, is)
	put(hostSettings, set)
	for i := range print.Devices[:min(len(print.Devices), mostDevices)] {
		put(deviceInfo, ofDevice(&print.Devices[i]))
	}
	for key, s := range f.all {
		if next[key] == nil {
			ended = append(ended, s)
		}
	}
	f.all = next
	return ended
}

// ofHost are the labels of a host: all that its fingerprint has beside devices
// and file systems, what it is and how its memory is set. Memory is told in GiB,
// for machines of one kind differ in the rest.
func (f *facts) ofHost(print *host.Fingerprint) (is, set []series.Label) {
	short := *print
	short.Devices, short.FileSystems, short.MemoryBytes, short.SwapBytes = nil, nil, 0, nil
	settings, err := host.Settings(&short)
	if err != nil {
		f.log.Warn("the host's facts cannot be published", "why", err)
	}
	settings["memory_gib"] = gib(print.MemoryBytes)
	if print.SwapBytes != nil {
		settings["swap_gib"] = gib(*print.SwapBytes)
	}
	settings["iocause"] = f.program
	settings["machine"] = f.machine()
	var types []string
	for _, x := range print.FileSystems {
		if x.Disk != "" {
			types = append(types, x.Type)
		}
	}
	slices.Sort(types)
	settings["file_systems"] = strings.Join(slices.Compact(types), ",")
	for _, l := range factLabels(settings) {
		if strings.HasPrefix(l.Name, "vm_") || l.Name == "transparent_hugepage" || l.Name == "multi_generational_lru" {
			set = append(set, l)
		} else {
			is = append(is, l)
		}
	}
	return is, set
}

// machine is a hash of the machine's number, which tells two hosts of one name
// apart: who knows it does not know the number (machine-id(5) asks for that).
func (f *facts) machine() string {
	b, err := os.ReadFile(filepath.Join(f.host.Root, "/etc/machine-id"))
	if err != nil || len(strings.TrimSpace(string(b))) == 0 {
		return ""
	}
	return hashed("machine", strings.TrimSpace(string(b)))
}

// hashed names something without telling what it is.
func hashed(kind, name string) string {
	sum := sha256.Sum256([]byte("iocause\x00" + kind + "\x00" + name))
	return hex.EncodeToString(sum[:6])
}

func ofDevice(d *host.BlockDevice) []series.Label {
	number := func(n *uint64) string {
		if n == nil {
			return ""
		}
		return strconv.FormatUint(*n, 10)
	}
	rotational := ""
	if d.Rotational != nil {
		rotational = strconv.FormatBool(*d.Rotational)
	}
	return factLabels(map[string]string{
		"device": d.Name, "model": strings.TrimSpace(d.Model), "gib": gib(d.Bytes), "scheduler": d.Scheduler, "rotational": rotational,
		"read_ahead_bytes": number(d.ReadAheadBytes), "nr_requests": number(d.NrRequests), "wbt_lat_usec": number(d.WBTLatUsec), "max_sectors_kb": number(d.MaxSectorsKB),
	})
}

// gib rounds bytes to GiB, 0.5 for less than one.
func gib(bytes uint64) string {
	switch n := (bytes + 1<<29) >> 30; {
	case bytes == 0:
		return "0"
	case n == 0:
		return "0.5"
	default:
		return strconv.FormatUint(n, 10)
	}
}

var notInLabels = regexp.MustCompile(`[^a-zA-Z0-9]+`)

// factLabels are settings as labels: names that Prometheus takes, values of a
// length that it likes.
func factLabels(settings map[string]string) []series.Label {
	var out []series.Label
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		value := settings[name]
		if len(value) > longestFact {
			value = value[:longestFact-12] + hashed(name, value)
		}
		out = append(out, series.Label{Name: strings.Trim(notInLabels.ReplaceAllString(name, "_"), "_"), Value: value})
	}
	return out
}
