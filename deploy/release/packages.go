package main

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/goreleaser/nfpm/v2"
	"github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	"github.com/goreleaser/nfpm/v2/rpm"
)

const (
	maintainer  = "iocause <iocause@localhost.localdomain>"
	configFile  = "/etc/iocause/agent.yaml"
	description = `find out why I/O is slow
iocause watches a machine and names the cause of slow I/O, with evidence: a
page cache that is too small, a device at its limit, a neighbour, a lock.

Its agent records utilisation, saturation and errors all the time, learns what
is normal, and keeps finding and evidence when something is not.`
)

// systemPackage makes a package that dpkg or rpm install. It starts nothing: the
// agent takes memory and disk on a machine whose owner may only want the command.
func systemPackage(format, work, root string, b built, c contents) (made, error) {
	version := packageVersion(b.version)
	if !packageVersionForm.MatchString(version) {
		return made{}, fmt.Errorf("making the %s package: %q is no version that it takes", format, version)
	}
	layout, packager := debLayout, nfpm.Packager(deb.Default)
	if format == "rpm" {
		layout, packager = rpmLayout, rpm.DefaultRPM
	}
	all, err := layout(root, b, c)
	if err != nil {
		return made{}, err
	}
	stage := filepath.Join(work, format+"-"+b.arch)
	contents, err := staged(format, stage, all, b.time)
	if err != nil {
		return made{}, err
	}
	script := func(name string) string { return filepath.Join(root, "deploy", "package", format, name) }
	info := &nfpm.Info{
		Name: "iocause", Arch: b.arch, Platform: "linux", Version: version, VersionSchema: "none", Release: "1",
		Section: "admin", Priority: "optional", Maintainer: maintainer, Description: description,
		DisableGlobbing: true, MTime: b.time,
	}
	info.Contents = contents
	info.Umask = 0o022
	info.Deb.Compression = "xz"
	info.RPM.Compression, info.RPM.BuildHost, info.RPM.Summary = "xz", "localhost", "Find out why I/O is slow"
	switch format {
	case "deb":
		info.Scripts = nfpm.Scripts{PostInstall: script("postinst"), PreRemove: script("prerm"), PostRemove: script("postrm")}
	case "rpm":
		info.License = "Apache-2.0"
		info.Scripts = nfpm.Scripts{PostInstall: script("post"), PreRemove: script("preun"), PostRemove: script("postun")}
	}
	info = nfpm.WithDefaults(info)
	if err := nfpm.PrepareForPackager(info, format); err != nil {
		return made{}, fmt.Errorf("making the %s package: %w", format, err)
	}
	var out bytes.Buffer
	if err := packager.Package(info, &out); err != nil {
		return made{}, fmt.Errorf("making the %s package: %w", format, err)
	}
	return made{packager.ConventionalFileName(info), out.Bytes()}, nil
}

// staged writes the files to a folder, from where the packager takes them.
func staged(format, stage string, all []file, at time.Time) (files.Contents, error) {
	var out files.Contents
	for _, f := range all {
		name := filepath.Join(stage, f.name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return nil, fmt.Errorf("staging a package: %w", err)
		}
		if err := os.WriteFile(name, f.data, 0o600); err != nil {
			return nil, fmt.Errorf("staging a package: %w", err)
		}
		c := &files.Content{Source: name, Destination: f.name,
			FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: os.FileMode(f.mode), MTime: at}}
		switch {
		case f.name == configFile:
			c.Type = files.TypeConfigNoReplace
		case format == "rpm" && strings.HasPrefix(f.name, "/usr/share/licenses/"):
			c.Type = files.TypeRPMLicense
		case format == "rpm" && (strings.HasPrefix(f.name, "/usr/share/doc/") || strings.HasPrefix(f.name, "/usr/share/man/")):
			c.Type = files.TypeRPMDoc
		}
		out = append(out, c)
	}
	return out, nil
}

// common is what both kinds of packages have in the same places.
func common(c contents, unit, zsh string, pages []file) []file {
	all := []file{{"/usr/bin/iocause", 0o755, c.binary}, {configFile, 0o644, c.config}, {unit + "/iocause-agent.service", 0o644, c.unit}}
	return slices.Concat(all, under("/usr/share/man/man1", pages), under("/usr/share", c.completionFiles(zsh)),
		under("/usr/share/doc/iocause/docs", c.documents), under("/usr/share/doc/iocause/examples", c.examples))
}

// compressed are the manual's pages as packages have them.
func compressed(pages []file) ([]file, error) {
	out := slices.Clone(pages)
	for i := range out {
		data, err := gzipped(out[i].data)
		if err != nil {
			return nil, err
		}
		out[i].name, out[i].data = out[i].name+".gz", data
	}
	return out, nil
}

// debLayout is where Debian's policy wants the files.
func debLayout(root string, b built, c contents) ([]file, error) {
	pages, err := compressed(c.manual)
	if err != nil {
		return nil, err
	}
	all := common(c, "/lib/systemd/system", "zsh/vendor-completions", pages)
	copyright, overrides := "", ""
	for name, to := range map[string]*string{"copyright": &copyright, "lintian-overrides": &overrides} {
		data, err := os.ReadFile(filepath.Join(root, "deploy", "package", "deb", name))
		if err != nil {
			return nil, fmt.Errorf("making the Debian package: %w", err)
		}
		*to = string(data)
	}
	all = append(all, file{"/usr/share/lintian/overrides/iocause", 0o644, []byte(overrides)})
	const doc = "/usr/share/doc/iocause"
	for _, f := range slices.Concat(c.texts, c.licences) {
		switch f.name {
		case "CHANGELOG.md":
			f.name = "changelog.gz"
			if f.data, err = gzipped(f.data); err != nil {
				return nil, err
			}
		case "LICENSE", "LICENSES/GPL-2.0-only.txt": // are in /usr/share/common-licenses
			continue
		case "LICENSES/uPlot-MIT.txt": // is in copyright
			continue
		case "LICENSES/BSD-2-Clause.txt":
			f.name, f.data = "copyright", []byte(copyright+indented(f.data))
		case "THIRD-PARTY.txt": // long texts are packed
			f.name += ".gz"
			if f.data, err = gzipped(f.data); err != nil {
				return nil, err
			}
		}
		f.name = path.Join(doc, f.name)
		all = append(all, f)
	}
	news, err := gzipped(fmt.Appendf(nil, "iocause (%s-1) unstable; urgency=medium\n\n  * See changelog.gz.\n\n -- %s  %s\n",
		packageVersion(b.version), maintainer, b.time.Format(time.RFC1123Z)))
	return append(all, file{doc + "/changelog.Debian.gz", 0o644, news}), err
}

// indented is a text as a field of Debian's copyright file has it.
func indented(data []byte) string {
	var b strings.Builder
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimRight(line, " \t\n"); line == "" {
			line = "."
		}
		b.WriteString(" " + line + "\n")
	}
	return b.String()
}

// rpmLayout is where Fedora and its kin want them.
func rpmLayout(_ string, _ built, c contents) ([]file, error) {
	pages, err := compressed(c.manual)
	if err != nil {
		return nil, err
	}
	all := common(c, "/usr/lib/systemd/system", "zsh/site-functions", pages)
	return slices.Concat(all, under("/usr/share/doc/iocause", c.texts), under("/usr/share/licenses/iocause", c.licences)), nil
}
