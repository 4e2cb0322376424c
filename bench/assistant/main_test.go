package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCauseIn(t *testing.T) {
	for answer, want := range map[string]string{
		"CAUSE: x-y": "x-y", "I think\nCAUSE: a\n\n**CAUSE: `b-c`**\n": "b-c", "the CAUSE: x": "no answer", "": "no answer",
	} {
		if got := causeIn(answer); got != want {
			t.Errorf("%q: %s, want %s", answer, got, want)
		}
	}
}

// The cause of each recorded situation is known.
func TestSituations(t *testing.T) {
	all, err := situations("../../internal/cli/testdata/situations", "")
	if err != nil || len(all) != len(about()) {
		t.Fatalf("%d situations, %v", len(all), err)
	}
	for _, s := range all {
		if s.name == "cgroup-io-throttle-bps" && s.cause != "cgroup-io-throttle" || s.name == "device-degraded" && s.before == "" {
			t.Errorf("%+v", s)
		}
	}
}

// A command is asked with the question on its input, and with a file of servers in
// which the server is only with it.
func TestAssistantIsAsked(t *testing.T) {
	program := filepath.Join(t.TempDir(), "iocause")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho table $1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	s := &situation{name: "x", file: "/x.iocause", about: "db"}
	for _, with := range []bool{true, false} {
		got, err := askAssistant(t.Context(), program, `grep -q '"db" was slow' && grep -q '"iocause"' {mcp} && echo CAUSE: cold-cache || echo CAUSE: healthy`, s, with)
		if want := map[bool]string{true: "cold-cache", false: "healthy"}[with]; err != nil || !strings.Contains(got, want) {
			t.Errorf("%v: %s %v", with, got, err)
		}
	}
	if _, err := askAssistant(t.Context(), program, "exit 3", s, true); err == nil {
		t.Error("an assistant that fails is believed")
	}
}
