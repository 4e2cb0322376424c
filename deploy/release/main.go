// Command release makes what a release of iocause consists of: for each
// architecture an archive, a Debian and an RPM package and a list of what is
// in the binary, then a container image of all architectures and the checksums.
// The same commit makes the same bytes with the same Go, wherever it is done.
package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stderr))
}

func run(args []string, errw io.Writer) int {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	flags.SetOutput(errw)
	root := flags.String("root", ".", "folder of iocause's sources, a git clone")
	out := flags.String("o", "dist", "folder that is filled; files of an earlier release in it are removed")
	archs := flags.String("arch", "amd64,arm64", "architectures, as Go calls them")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	if flags.NArg() > 0 {
		fmt.Fprintf(errw, "release: takes no arguments, but has %q; see -help\n", flags.Arg(0))
		return 2
	}
	if err := release(*root, *out, strings.Split(*archs, ","), errw); err != nil {
		fmt.Fprintf(errw, "release: %v\n", err)
		return 1
	}
	return 0
}

// made is a file of the release.
type made struct {
	name string
	data []byte
}

// release makes everything and puts it into out.
func release(root, out string, archs []string, errw io.Writer) error {
	work, err := os.MkdirTemp("", "iocause-release-")
	if err != nil {
		return fmt.Errorf("making a folder to work in: %w", err)
	}
	defer os.RemoveAll(work)
	step := progress(errw)

	var all []made
	var images []platform
	for _, arch := range archs {
		step("building iocause for " + arch)
		b, err := build(root, work, arch)
		if err != nil {
			return err
		}
		step("packing " + b.version + " for " + arch)
		some, err := pack(root, work, b)
		if err != nil {
			return err
		}
		all = append(all, some.made...)
		images = append(images, platform{b, some.image})
	}
	step("making the container image")
	tar, err := image(work, images)
	if err != nil {
		return err
	}
	all = append(all, made{"iocause-" + images[0].built.version + "-oci.tar", tar})
	all = append(all, made{"SHA256SUMS", checksums(all)})
	return fill(out, all, errw)
}

// packed is what is made for one architecture.
type packed struct {
	made  []made
	image []file // what the container image has
}

func pack(root, work string, b built) (packed, error) {
	var p packed
	third, err := licences(root, b)
	if err != nil {
		return p, err
	}
	list, err := sbom(b)
	if err != nil {
		return p, err
	}
	c, err := gather(root, b, third)
	if err != nil {
		return p, err
	}
	base := fmt.Sprintf("iocause-%s-linux-%s", b.version, b.arch)
	archive, err := tarGzip(base, c.archive(), b.time)
	if err != nil {
		return p, err
	}
	p.made = []made{{base + ".tar.gz", archive}, {base + ".cdx.json", list}}
	for _, format := range []string{"deb", "rpm"} {
		m, err := systemPackage(format, work, root, b, c)
		if err != nil {
			return p, err
		}
		p.made = append(p.made, m)
	}
	p.image, err = c.image()
	return p, err
}

// checksums is what 'sha256sum --check' reads.
func checksums(all []made) []byte {
	var sums bytes.Buffer
	slices.SortFunc(all, func(a, b made) int { return strings.Compare(a.name, b.name) })
	for _, m := range all {
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(m.data), m.name)
	}
	return sums.Bytes()
}

// fill writes the files and removes those of an earlier release.
func fill(out string, all []made, errw io.Writer) error {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return fmt.Errorf("creating the directory of the release: %w", err)
	}
	old, err := filepath.Glob(filepath.Join(out, "iocause[\\-_]*"))
	if err != nil {
		return err
	}
	for _, name := range old {
		if err := os.Remove(name); err != nil {
			return fmt.Errorf("removing a file of an earlier release: %w", err)
		}
	}
	for _, m := range all {
		name := filepath.Join(out, m.name)
		if err := os.WriteFile(name, m.data, 0o644); err != nil {
			return fmt.Errorf("writing %s: %w", name, err)
		}
		fmt.Fprintf(errw, "%10d bytes  %s\n", len(m.data), name)
	}
	return nil
}

// progress says what is done now, and how long it took so far.
func progress(errw io.Writer) func(what string) {
	began := time.Now()
	return func(what string) {
		fmt.Fprintf(errw, "release: %4.0f s  %s\n", time.Since(began).Seconds(), what)
	}
}
