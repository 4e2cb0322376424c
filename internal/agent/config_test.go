package agent

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestConfig(t *testing.T) {
	got, err := parseConfig("x.yaml", []byte(`# everything
dir: /srv/rec
interval: 500ms
slow_interval: 30s
listen: "[::]:9999"
sources_off: [netdev, sysctl]
keep: {raw: 24h, five_minutes: 30d, hours: 400d}
limits:
  cpu: 1.5%
  bpf: 0.5%
  memory: 96MiB
  disk: 1.5 GiB
remote_write:
  url: https://example.com/api/v1/write
  every: 30s
  labels: {instance: db1}
  token_file: /etc/iocause/token
  version: 1.0
  ca_file: /etc/iocause/ca.pem
tables: {interval: 30s, rows: 5, keep: 7d, disk: 1GiB}
page_cache: {interval: 1m, look: 50ms}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := Config{Dir: "/srv/rec", Interval: 500 * time.Millisecond, SlowInterval: 30 * time.Second, Listen: "[::]:9999",
		Off: []string{"netdev", "sysctl"}, Limits: Limits{CPU: 0.015, BPF: 0.005, Memory: 96 << 20, Disk: 3 << 29},
		Remote: Remote{"https://example.com/api/v1/write", 30 * time.Second, map[string]string{"instance": "db1"}, "/etc/iocause/token", "1.0", "/etc/iocause/ca.pem"}}
	want.Incidents.Diagnose = 10 * time.Second
	want.OTLP = DefaultConfig().OTLP
	want.Tables = Tables{30 * time.Second, 5, 7 * 24 * time.Hour, 1 << 30}
	want.PageCache = PageCache{time.Minute, 50 * time.Millisecond}
	want.Keep.Raw, want.Keep.FiveMinutes, want.Keep.Hours = 24*time.Hour, 720*time.Hour, 9600*time.Hour
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	for _, nothing := range []string{"", "# only a comment\n", "keep:\n", "---\n"} {
		if got, err := parseConfig("x.yaml", []byte(nothing)); err != nil || !reflect.DeepEqual(got, DefaultConfig()) {
			t.Errorf("%q: %+v, %v", nothing, got, err)
		}
	}
}

func TestConfigErrorsHaveALine(t *testing.T) {
	for text, want := range map[string]string{
		"dir: /a\nintervall: 1s":                `x.yaml:2: "intervall" is not a key here; the keys are cri_socket, dir, fetch, incidents, interval`,
		"interval: fast":                        `x.yaml:1: "fast" is not a time`,
		"interval: 1ms":                         `x.yaml:1: 1ms is not between 100ms and 1m0s`,
		"interval: [1s]":                        `x.yaml:1: "" is not a time`,
		"dir: here":                             `x.yaml:1: "here" is not an absolute path`,
		"listen: 9464":                          `x.yaml:1: "9464" is not an address`,
		"listen: example.com:1":                 `x.yaml:1: "example.com:1" has no IP address`,
		"listen: 127.0.0.1:http":                `x.yaml:1: "127.0.0.1:http" has no port`,
		"\n\nsources_off: [stat, wrong]":        `x.yaml:3: there is no source "wrong"`,
		"sources_off: stat":                     `x.yaml:1: this must be a list of sources`,
		"limits:\n  cpu: 2":                     `x.yaml:2: "2" is not a share`,
		"limits:\n  cpu: 0%":                    `x.yaml:2: "0%" is not a share`,
		"limits:\n  cpu: NaN%":                  `x.yaml:2: "NaN%" is not a share`,
		"limits:\n  memory: 1MiB":               `x.yaml:2: 1MiB is less than 48 MiB`,
		"limits:\n  disk: 5GB":                  `x.yaml:2: "5GB" is not an amount`,
		"keep: 5d":                              `x.yaml:1: this must be a mapping of five_minutes, hours, raw`,
		"keep: {raw: 1m}":                       `x.yaml:1: 1m is not between 1h0m0s`,
		"dir: /a\ndir: /b":                      `x.yaml:2: "dir" is given twice`,
		"dir: /a\n---\ndir: /b":                 `x.yaml:1: the file has more than one document`,
		"dir: [":                                `line 1`,
		"remote_write:\n  url: example.com":     `x.yaml:2: "example.com" is not a URL`,
		"remote_write:\n  url: http://a:b@c/":   `x.yaml:2: the URL holds a password`,
		"otlp: {url: 'http://c:4318/?token=a'}": `x.yaml:1: the URL has a query`,
		"remote_write:\n  every: 30s":           `x.yaml:2: url is missing`,
		"remote_write: {url: 'http://a/', labels: {a-b: c}}":  `x.yaml:1: "a-b" cannot be the name`,
		"remote_write: {url: 'http://a/', labels: {abc: ''}}": `x.yaml:1: the label abc has no value`,
		"remote_write: {url: 'http://a/', token_file: token}": `x.yaml:1: "token" is not an absolute path`,
		"tables: {rows: 0}":                          `x.yaml:1: "0" is not a number from 1 to 1000`,
		"tables: {interval: 1ms}":                    `x.yaml:1: 1ms is not between 1s and 10m0s`,
		"page_cache: {sample: 2s}":                   `x.yaml:1: a sample of 2s is more than a hundredth of the interval, 20s`,
		"page_cache: {sample: 200ms, interval: 10s}": `x.yaml:1: a sample of 200ms is more than a hundredth of the interval, 10s`,
		"page_cache: {interval: 1s}":                 `x.yaml:1: 1s is not between 5s and 10m0s`,
		"limits:\n  bpf: 2":                          `x.yaml:2: "2" is not a share`,
		"tables:\n  disk: 1MiB":                      `x.yaml:2: 1MiB is less than 16 MiB`,
	} {
		_, err := parseConfig("x.yaml", []byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	_, err := parseConfig("x.yaml", []byte("intervall: 1s\nlimits:\n  cpu: much\n"))
	if err == nil || !strings.Contains(err.Error(), "x.yaml:1:") || !strings.Contains(err.Error(), "x.yaml:3:") {
		t.Errorf("not all that is wrong is said: %v", err)
	}
	if _, err := LoadConfig(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}

func FuzzConfig(f *testing.F) {
	f.Add([]byte("interval: 1s\nkeep: {raw: 24h}\nlimits: {disk: 1GiB}\n"))
	f.Add([]byte("a: &a [*a]"))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := parseConfig("x", b)
		if err == nil && (c.Interval < ShortestInterval || c.Limits.Memory < 48<<20 || c.Keep.Raw < time.Hour) {
			t.Errorf("%q gives %+v", b, c)
		}
	})
}
