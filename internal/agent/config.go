package agent

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Config is how the agent runs.
type Config struct {
	Dir          string
	Interval     time.Duration // of what moves
	SlowInterval time.Duration // of what hardly does
	Listen       string        // address, "" for none
	Off          []string      // sources that are not read
	Keep         struct{ Raw, FiveMinutes, Hours time.Duration }
	Limits       Limits
	Remote       Remote
	OTLP         OTLP
	Fetch        Fetch
	CRISocket    string // of the container runtime, which knows names of pods; "" for none
	Incidents    Incidents
	Tables       Tables
	PageCache    PageCache

	watchEvery    time.Duration // from one look for anomalies to the next; 0 for the usual: tests wait for it
	adviceSettles time.Duration // the same after a change, before it is measured
}

// Tables are those of the busiest processes and cgroups.
type Tables struct {
	Interval time.Duration // 0 for none
	Rows     int           // of each table
	Keep     time.Duration
	Disk     int64 // bytes
}

// PageCache says how often the page cache is sampled, and for how long.
type PageCache struct {
	Interval time.Duration // 0 for not at all
	Sample   time.Duration
}

// Remote says where values are sent, besides being recorded.
type Remote struct {
	URL       string // "" for nowhere
	Every     time.Duration
	Labels    map[string]string // of all series
	TokenFile string            // holds a bearer token, "" for none
	Version   string            // of the protocol, "" for the newest that is understood
	CAFile    string            // certificates that the receiver's is checked with, "" for the system's
}

// OTLP says which receiver of OpenTelemetry's protocol is told, over HTTP.
type OTLP struct {
	URL           string // of the receiver, without /v1/metrics; "" for none
	Metrics, Logs bool   // whether values, and what happens to incidents, are sent
	Every         time.Duration
	Labels        map[string]string // attributes of the host
	TokenFile     string            // holds a bearer token, "" for none
	CAFile        string            // certificates that the receiver's is checked with, "" for the system's
}

// Limits are what the agent may take.
type Limits struct {
	CPU    float64 // of one processor
	BPF    float64 // of one processor: kernel programs, within the programs that they observe
	Memory int64   // bytes resident
	Disk   int64   // bytes of the recording's blocks
}

// DefaultConfig is what holds where nothing else is said.
func DefaultConfig() Config {
	const day = 24 * time.Hour
	c := Config{
		Dir: "/var/lib/iocause", Interval: time.Second, SlowInterval: 10 * time.Second, Listen: "127.0.0.1:9464",
		Limits: Limits{CPU: 0.02, BPF: 0.02, Memory: 128 << 20, Disk: 2 << 30},
	}
	c.Remote.Every = 15 * time.Second
	c.OTLP = OTLP{Metrics: true, Logs: true, Every: 15 * time.Second}
	c.Incidents.Diagnose = 10 * time.Second
	c.Keep.Raw, c.Keep.FiveMinutes, c.Keep.Hours = 2*day, 396*day, 396*day
	c.PageCache = PageCache{Interval: 20 * time.Second, Sample: 200 * time.Millisecond}
	c.Tables = Tables{Interval: 10 * time.Second, Rows: 20, Keep: 2 * day, Disk: 64 << 20}
	return c
}

// RingValues is how many values wait in memory while the disk does not take
// them: an eighth of the memory limit, of 16 bytes each. At 500 values a second
// the default is half an hour.
func (c *Config) RingValues() int { return int(c.Limits.Memory / 8 / 16) }

// ConfigError is a line of a configuration file that says nothing sensible.
type ConfigError struct {
	File string
	Line int
	What string
}

func (e *ConfigError) Error() string { return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.What) }

// LoadConfig reads a configuration file. What it does not say is as in
// DefaultConfig.
func LoadConfig(path string) (Config, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return Config{}, fmt.Errorf("reading the configuration: %w", err)
	}
	c, err := parseConfig(path, b)
	if err != nil {
		return c, fmt.Errorf("reading the configuration: %w", err)
	}
	return c, nil
}

func parseConfig(path string, b []byte) (Config, error) {
	c := DefaultConfig()
	var doc yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(b))
	if err := d.Decode(&doc); errors.Is(err, io.EOF) {
		return c, nil
	} else if err != nil {
		return c, fmt.Errorf("%s: %w", path, err)
	}
	p := &parser{file: path}
	top := doc.Content[0]
	if d.Decode(&yaml.Node{}) != io.EOF {
		p.bad(top, "the file has more than one document")
	}
	p.fields(top, map[string]func(*yaml.Node){
		"dir":           func(n *yaml.Node) { c.Dir = p.path(n) },
		"interval":      func(n *yaml.Node) { c.Interval = p.duration(n, ShortestInterval, time.Minute) },
		"slow_interval": func(n *yaml.Node) { c.SlowInterval = p.duration(n, time.Second, 10*time.Minute) },
		"listen":        func(n *yaml.Node) { c.Listen = p.address(n) },
		"sources_off":   func(n *yaml.Node) { c.Off = p.sources(n) },
		"keep": func(n *yaml.Node) {
			p.fields(n, map[string]func(*yaml.Node){
				"raw":          func(n *yaml.Node) { c.Keep.Raw = p.duration(n, time.Hour, longestKept) },
				"five_minutes": func(n *yaml.Node) { c.Keep.FiveMinutes = p.duration(n, 24*time.Hour, longestKept) },
				"hours":        func(n *yaml.Node) { c.Keep.Hours = p.duration(n, 24*time.Hour, longestKept) },
			})
		},
		"remote_write": func(n *yaml.Node) { p.remote(n, &c.Remote) },
		"otlp":         func(n *yaml.Node) { p.otlp(n, &c.OTLP) },
		"cri_socket":   func(n *yaml.Node) { c.CRISocket = p.path(n) },
		"fetch":        func(n *yaml.Node) { p.fetch(n, &c.Fetch) },
		"incidents":    func(n *yaml.Node) { p.incidents(n, &c.Incidents) },
		"tables":       func(n *yaml.Node) { p.tables(n, &c.Tables) },
		"page_cache":   func(n *yaml.Node) { p.pageCache(n, &c.PageCache) },
		"limits": func(n *yaml.Node) {
			p.fields(n, map[string]func(*yaml.Node){
				"cpu":    func(n *yaml.Node) { c.Limits.CPU = p.share(n) },
				"bpf":    func(n *yaml.Node) { c.Limits.BPF = p.share(n) },
				"memory": func(n *yaml.Node) { c.Limits.Memory = p.bytes(n, 48<<20) },
				"disk":   func(n *yaml.Node) { c.Limits.Disk = p.bytes(n, 64<<20) },
			})
		},
	})
	return c, errors.Join(p.errs...)
}

// ShortestInterval is how often sources may be read at most.
const ShortestInterval = 100 * time.Millisecond

const longestKept = 3660 * 24 * time.Hour

// parser collects all that is wrong with a file.
type parser struct {
	file string
	errs []error
}

func (p *parser) bad(n *yaml.Node, format string, args ...any) {
	p.errs = append(p.errs, &ConfigError{p.file, n.Line, fmt.Sprintf(format, args...)})
}

// fields reads a mapping of which all keys are known.
func (p *parser) fields(n *yaml.Node, known map[string]func(*yaml.Node)) {
	if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		return
	}
	if n.Kind != yaml.MappingNode {
		p.bad(n, "this must be a mapping of %s", names(known))
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		read := known[key.Value]
		switch {
		case read == nil:
			p.bad(key, "%q is not a key here; the keys are %s", key.Value, names(known))
		case seen[key.Value]:
			p.bad(key, "%q is given twice", key.Value)
		default:
			read(value)
		}
		seen[key.Value] = true
	}
}

func names(of map[string]func(*yaml.Node)) string {
	var all []string
	for k := range of {
		all = append(all, k)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

func (p *parser) duration(n *yaml.Node, least, most time.Duration) time.Duration {
	d, err := time.ParseDuration(n.Value)
	if days, isDays := strings.CutSuffix(n.Value, "d"); isDays {
		var f float64
		f, err = strconv.ParseFloat(days, 64)
		d = time.Duration(f * 24 * float64(time.Hour))
	}
	switch {
	case err != nil || n.Kind != yaml.ScalarNode:
		p.bad(n, "%q is not a time: write it like 1s, 48h or 90d", n.Value)
	case d < least || d > most:
		p.bad(n, "%s is not between %v and %v", n.Value, least, most)
	}
	return d
}

func (p *parser) path(n *yaml.Node) string {
	if n.Kind != yaml.ScalarNode || !filepath.IsAbs(n.Value) {
		p.bad(n, "%q is not an absolute path", n.Value)
	}
	return n.Value
}

func (p *parser) address(n *yaml.Node) string {
	if n.Kind == yaml.ScalarNode && n.Value == "" {
		return ""
	}
	if err := CheckListen(n.Value); err != nil {
		p.bad(n, "%v", err)
	}
	return n.Value
}

// CheckListen tells whether an address to listen on makes sense.
func CheckListen(s string) error {
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		return fmt.Errorf("%q is not an address: write it like 127.0.0.1:9464", s)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > math.MaxUint16 {
		return fmt.Errorf("%q has no port", s)
	}
	if host != "localhost" && net.ParseIP(host) == nil {
		return fmt.Errorf("%q has no IP address: to listen on all, write 0.0.0.0 or [::]", s)
	}
	return nil
}

func (p *parser) sources(n *yaml.Node) []string {
	if n.Kind != yaml.SequenceNode {
		p.bad(n, "this must be a list of sources: %s", strings.Join(Sources(), ", "))
		return nil
	}
	var out []string
	for _, x := range n.Content {
		if !slices.Contains(Sources(), x.Value) {
			p.bad(x, "there is no source %q; the sources are %s", x.Value, strings.Join(Sources(), ", "))
		}
		out = append(out, x.Value)
	}
	return out
}

func (p *parser) share(n *yaml.Node) float64 {
	number, isPercent := strings.CutSuffix(n.Value, "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || !isPercent || !(v > 0 && v <= 100) {
		p.bad(n, "%q is not a share of a processor: write it like 2%%", n.Value)
	}
	return v / 100
}

func (p *parser) bytes(n *yaml.Node, least int64) int64 {
	number := strings.TrimRight(n.Value, "KMGTiB ")
	factor := map[string]float64{"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}[strings.TrimSpace(n.Value[len(number):])]
	v, err := strconv.ParseFloat(number, 64)
	switch {
	case err != nil || factor == 0 || !(v > 0 && v < 1<<20):
		p.bad(n, "%q is not an amount: write it like 64MiB or 2GiB", n.Value)
	case v*factor < float64(least):
		p.bad(n, "%s is less than %d MiB", n.Value, least>>20)
	}
	return int64(v * factor)
}
