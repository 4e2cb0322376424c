package main

import (
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
	"time"
)

// built is a binary, and what the go command wrote into it.
type built struct {
	arch    string
	version string // as 'iocause version' has it, without the v in front
	commit  string
	time    time.Time // of the commit
	binary  []byte
	info    *debug.BuildInfo
}

// build makes the binary for one architecture. It knows its commit; a tree that
// is not a commit's is refused, since nobody could make the same again.
func build(root, work, arch string) (built, error) {
	b := built{arch: arch}
	name := filepath.Join(work, "iocause-"+arch)
	c := exec.Command("go", "build", "-trimpath", "-buildvcs=true", "-ldflags", "-s -w -buildid=", "-o", name, ".")
	c.Dir = root
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch, "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=", "GOEXPERIMENT=", "GOWORK=off")
	if out, err := c.CombinedOutput(); err != nil {
		return b, fmt.Errorf("building for %s: %w\n%s", arch, err, out)
	}
	var err error
	if b.binary, err = os.ReadFile(name); err != nil {
		return b, fmt.Errorf("reading the binary: %w", err)
	}
	if b.info, err = buildinfo.ReadFile(name); err != nil {
		return b, fmt.Errorf("reading what %s was built from: %w", name, err)
	}
	return b, b.facts()
}

// facts takes version, commit and time from the binary.
func (b *built) facts() error {
	modified := ""
	for _, s := range b.info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.commit = s.Value
		case "vcs.modified":
			modified = s.Value
		case "vcs.time":
			t, err := time.Parse(time.RFC3339, s.Value)
			if err != nil {
				return fmt.Errorf("reading the commit's time: %w", err)
			}
			b.time = t.UTC()
		}
	}
	b.version = strings.TrimPrefix(b.info.Main.Version, "v")
	switch {
	case b.commit == "" || b.time.IsZero() || b.version == "" || b.version == "(devel)":
		return errors.New("the binary does not know its commit: make the release in a git clone (a worktree of one is not enough)")
	case modified != "false":
		return errors.New("there are changes, or files that git does not know ('git status'): commit them or take them away")
	}
	return nil
}

// packageVersion is a version as dpkg and rpm sort it: what Go has behind the
// first hyphen is older than the version in front of it, which they write "~".
func packageVersion(version string) string {
	number, before, ok := strings.Cut(version, "-")
	if !ok {
		return number
	}
	return number + "~" + strings.ReplaceAll(before, "-", ".")
}

// packageVersionForm is what dpkg and rpm both take.
var packageVersionForm = regexp.MustCompile(`^[0-9][0-9A-Za-z.+~]*$`)
