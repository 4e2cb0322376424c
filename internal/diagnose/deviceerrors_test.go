package diagnose

import (
	"strings"
	"testing"
)

// A device is to be replaced for what is the device's fault.
func TestRemedyOfFailures(t *testing.T) {
	for kinds, want := range map[string]string{
		"read medium 9,write no space 2":  "replace the device",
		"write protection 1":              "replace the device",
		"write no space 9,read medium 2":  "make room",
		"write reservation 3":             "reserved",
		"read transport 3,read timeout 1": "path",
		"write offline 3":                 "path",
		"write device resource 3":         "fewer programs",
	} {
		f := failures{device: "sda", kinds: map[string]float64{}}
		for _, kind := range strings.Split(kinds, ",") {
			at := strings.LastIndex(kind, " ")
			f.kinds[kind[:at]] = float64(kind[at+1] - '0')
		}
		got := f.remedy()
		if !strings.Contains(got, want) || !strings.Contains(got, "sda") || strings.Contains(got, "replace") != (want == "replace the device") {
			t.Errorf("%s: %s", kinds, got)
		}
	}
}
