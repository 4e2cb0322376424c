package main

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
	"golang.org/x/crypto/x509roots/fallback/bundle"

	"iocause/internal/cli"
)

// contents is what goes into archives, packages and images, each in its own
// folders.
type contents struct {
	binary      []byte
	manual      []file // section 1, by file name
	completions []file // by the name of the shell
	unit        []byte
	config      []byte
	examples    []file
	documents   []file
	texts       []file // README.md, CHANGELOG.md
	licences    []file
}

// gather collects it from the sources and the command line itself.
func gather(root string, b built, third []byte) (contents, error) {
	c := contents{binary: b.binary}
	read := func(to *[]file, as string, name ...string) error {
		name = append([]string{root}, name...)
		data, err := os.ReadFile(filepath.Join(name...))
		if err != nil {
			return fmt.Errorf("collecting what is packed: %w", err)
		}
		*to = append(*to, file{as, 0o644, data})
		return nil
	}
	var unit, config []file
	documents, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		return c, err
	}
	for _, err := range []error{
		read(&unit, "", "deploy", "iocause-agent.service"),
		read(&config, "", "deploy", "agent.yaml"),
		read(&c.examples, "alerts.yaml", "deploy", "alerts.yaml"),
		read(&c.examples, "grafana.json", "deploy", "grafana.json"),
		read(&c.texts, "README.md", "README.md"),
		read(&c.texts, "CHANGELOG.md", "CHANGELOG.md"),
		read(&c.licences, "LICENSE", "LICENSE"),
		read(&c.licences, "LICENSES/BSD-2-Clause.txt", "LICENSES", "BSD-2-Clause.txt"),
		read(&c.licences, "LICENSES/GPL-2.0-only.txt", "LICENSES", "GPL-2.0-only.txt"),
		read(&c.licences, "LICENSES/uPlot-MIT.txt", "third_party", "uplot", "LICENSE"),
	} {
		if err != nil {
			return c, err
		}
	}
	c.unit, c.config = unit[0].data, config[0].data
	c.licences = append(c.licences, file{"THIRD-PARTY.txt", 0o644, third})
	for _, name := range documents {
		if err := read(&c.documents, filepath.Base(name), "docs", filepath.Base(name)); err != nil {
			return c, err
		}
	}
	command := cli.Root()
	if c.completions, err = completions(command); err != nil {
		return c, err
	}
	markDown(command)
	c.manual, err = manual(command, b)
	return c, err
}

func completions(root *cobra.Command) ([]file, error) {
	var all []file
	for _, shell := range []struct {
		name  string
		write func(*bytes.Buffer) error
	}{
		{"bash", func(b *bytes.Buffer) error { return root.GenBashCompletionV2(b, true) }},
		{"fish", func(b *bytes.Buffer) error { return root.GenFishCompletion(b, true) }},
		{"zsh", func(b *bytes.Buffer) error { return root.GenZshCompletion(b) }},
	} {
		var b bytes.Buffer
		if err := shell.write(&b); err != nil {
			return nil, fmt.Errorf("making the completions of %s: %w", shell.name, err)
		}
		all = append(all, file{shell.name, 0o644, b.Bytes()})
	}
	return all, nil
}

// under gives files a folder.
func under(folder string, files []file) []file {
	out := slices.Clone(files)
	for i := range out {
		out[i].name = path.Join(folder, out[i].name)
	}
	return out
}

// completionFiles are the completions as the shells look for them, below share.
func (c contents) completionFiles(zsh string) []file {
	var out []file
	for _, f := range c.completions {
		switch f.name {
		case "bash":
			f.name = "bash-completion/completions/iocause"
		case "fish":
			f.name = "fish/vendor_completions.d/iocause.fish"
		case "zsh":
			f.name = zsh + "/_iocause"
		}
		out = append(out, f)
	}
	return out
}

// archive is what the archive has.
func (c contents) archive() []file {
	all := []file{{"iocause", 0o755, c.binary}, {"agent.yaml", 0o644, c.config}, {"iocause-agent.service", 0o644, c.unit}}
	return slices.Concat(all, c.texts, c.licences, under("docs", c.documents), under("man", c.manual),
		under("examples", c.examples), under("completions", c.completions))
}

// image is what the container image has: no shell, no libraries, but the
// certificates that servers are known by, which remote_write needs.
func (c contents) image() ([]file, error) {
	roots, err := certificates()
	if err != nil {
		return nil, err
	}
	all := []file{{"usr/bin/iocause", 0o755, c.binary}, {"etc/iocause/agent.yaml", 0o644, c.config}, {"etc/ssl/certs/ca-certificates.crt", 0o644, roots},
		{"tmp/", 0o1777, nil}, {"var/lib/iocause/", 0o700, nil}}
	return slices.Concat(all, under("usr/share/doc/iocause", c.licences)), nil
}

// certificates are Mozilla's, without those that it trusts only to a degree.
func certificates() ([]byte, error) {
	var b bytes.Buffer
	n := 0
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue
		}
		if err := pem.Encode(&b, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			return nil, fmt.Errorf("packing certificates: %w", err)
		}
		n++
	}
	if n < 50 {
		return nil, fmt.Errorf("only %d root certificates were found", n)
	}
	return b.Bytes(), nil
}
