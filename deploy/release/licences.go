package main

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// licenceFile is what projects call the texts that have to go along.
var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents|copyright)([-_.].*)?$`)

// licences is one text with the licences of all that is linked, Go's own first.
// A module without one is an error: it may not be handed on.
func licences(root string, b built) ([]byte, error) {
	goRoot, err := output(root, "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	dirs := map[string]string{"Go's standard library " + b.info.GoVersion: strings.TrimSpace(string(goRoot))}
	ask := []string{"list", "-mod=readonly", "-m", "-f", "{{.Path}} {{.Version}}\t{{.Dir}}"}
	for _, m := range b.info.Deps {
		if !ours(m) {
			ask = append(ask, m.Path)
		}
	}
	list, err := output(root, "go", ask...)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(list)) {
		name, dir, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		dirs[name] = dir
	}
	names := make([]string, 0, len(dirs))
	for name := range dirs {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { // "Go's" before all paths
		return cmp.Or(-cmp.Compare(spaces(a), spaces(b)), cmp.Compare(a, b))
	})
	var out bytes.Buffer
	fmt.Fprintf(&out, "iocause is made with the following, each under its own licence.\n")
	for _, name := range names {
		if err := texts(&out, name, dirs[name]); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}

func spaces(name string) int { return strings.Count(name, " ") }

// texts adds those of one module.
func texts(out *bytes.Buffer, name, dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("looking for the licence of %s: %w", name, err)
	}
	n := 0
	for _, e := range entries {
		if e.IsDir() || !licenceFile.MatchString(e.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return fmt.Errorf("reading the licence of %s: %w", name, err)
		}
		fmt.Fprintf(out, "\n%s\n%s: %s\n%[1]s\n\n%s\n", strings.Repeat("=", 78), name, e.Name(), bytes.TrimSpace(text))
		n++
	}
	if n == 0 {
		return fmt.Errorf("%s has no licence in %s", name, dir)
	}
	return nil
}

// output is what a command says; its error has what it complained of.
func output(dir, name string, args ...string) ([]byte, error) {
	c := exec.Command(name, args...)
	c.Dir = dir
	var complaint bytes.Buffer
	c.Stderr = &complaint
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("running %s %s: %w: %s", name, args[0], err, bytes.TrimSpace(complaint.Bytes()))
	}
	return out, nil
}
