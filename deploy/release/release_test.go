package main

import (
	"archive/tar"
	"bytes"
	"io"
	"os/exec"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

// dpkg itself says which version is newer.
func TestPackageVersionsSortAsTheyCame(t *testing.T) {
	rising := []string{
		"0.0.0-20261123052231-c0304148157e", "0.0.0-20261123052232-0000000000aa", "0.1.0-rc.1", "0.1.0-rc.2", "0.1.0",
		"0.1.1-0.20261124000000-c0304148157e", "0.1.1", "0.10.0",
	}
	dpkg, err := exec.LookPath("dpkg")
	for i, v := range rising {
		if got := packageVersion(v); !packageVersionForm.MatchString(got) {
			t.Errorf("%s becomes %q", v, got)
		}
		if i > 0 && err == nil {
			older, newer := packageVersion(rising[i-1]), packageVersion(v)
			if exec.Command(dpkg, "--compare-versions", older, "lt", newer).Run() != nil {
				t.Errorf("dpkg does not take %s for older than %s", older, newer)
			}
		}
	}
	if err != nil {
		t.Log("dpkg is not here to compare them")
	}
}

func TestWhatCannotBeMadeAgainIsRefused(t *testing.T) {
	settings := func(modified string) []debug.BuildSetting {
		return []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.time", Value: "2026-11-23T05:22:31Z"}, {Key: "vcs.modified", Value: modified}}
	}
	for name, c := range map[string]struct {
		version  string
		settings []debug.BuildSetting
		well     bool
	}{
		"a commit":        {"v0.1.0", settings("false"), true},
		"changed":         {"v0.1.0+dirty", settings("true"), false},
		"no clone":        {"(devel)", nil, false},
		"no commit known": {"v0.1.0", nil, false},
	} {
		b := built{info: &debug.BuildInfo{Main: debug.Module{Version: c.version}, Settings: c.settings}}
		if err := b.facts(); (err == nil) != c.well {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestArchiveHasFoldersAndNothingOfThisMachine(t *testing.T) {
	at := time.Unix(1_790_000_000, 0)
	b, err := tarFiles([]file{{"b/c/d", 0o755, []byte("x")}, {"tmp/", 0o1777, nil}, {"a", 0o644, nil}}, at)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for r := tar.NewReader(bytes.NewReader(b)); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		got = append(got, h.Name)
		if h.Uid != 0 || h.Gid != 0 || h.Uname != "" || !h.ModTime.Equal(at) {
			t.Errorf("%+v", h)
		}
	}
	if want := "a b/ b/c/ b/c/d tmp/"; want != strings.Join(got, " ") {
		t.Errorf("%q, want %q", strings.Join(got, " "), want)
	}
}

func TestStandInsAreToldFromModules(t *testing.T) {
	c, err := component(&debug.Module{Path: "github.com/x/y", Version: "v1.2.3", Sum: "h1:pDUj4QMoPejqq20dK0Pg2N4yG9zIkYGdBtwLoEkH9Zs="})
	if err != nil || c.PackageURL != "pkg:golang/github.com/x/y@v1.2.3" || len(*c.Hashes) != 1 || len((*c.Hashes)[0].Value) != 64 {
		t.Errorf("%+v %v", c, err)
	}
	c, err = component(&debug.Module{Path: "k8s.io/client-go", Version: "v0.37.0", Replace: &debug.Module{Path: "./third_party/clientgo", Version: "(devel)"}})
	if err != nil || c.PackageURL != "" || c.Version != "" {
		t.Errorf("%+v %v", c, err)
	}
	if _, err := component(&debug.Module{Path: "x.org/y", Version: "v1.0.0"}); err == nil {
		t.Error("a module without a checksum passed")
	}
}

// A list of the help keeps its lines in the manual, and stars and angle brackets
// stay.
func TestManualKeepsLists(t *testing.T) {
	c := &cobra.Command{Use: "x", Short: "does x", Run: func(*cobra.Command, []string) {}, Example: "  x 1\n  x 2",
		Long: "It reads *.log of <host>:\n  cpu    on CPU\n  disk_w  block I/O\nand the rest.\n\n  a\n  b"}
	c.Flags().Bool("all", false, "also of others,\nin any_order_")
	markDown(c)
	pages, err := manual(c, built{})
	if err != nil || len(pages) != 1 {
		t.Fatal(len(pages), err)
	}
	page := string(pages[0].data)
	for _, want := range []string{"*\\&.log of <host>:", "\n.EX\n  cpu    on CPU\n  disk_w  block I/O\n.EE\n", "\nand the rest.", "\n.EX\n  a\n  b\n.EE\n", "\n.EX\n  x 1\n  x 2\n.EE\n", "also of others, in any_order_"} {
		if !strings.Contains(page, want) {
			t.Errorf("lacks %q:\n%s", want, page)
		}
	}
}
