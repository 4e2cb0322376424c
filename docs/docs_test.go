// Package docs_test checks what the documents say against the repository: links
// lead somewhere, commands run, and the two commands at the top of README.md
// are the agreed ones.
package docs_test

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"iocause/internal/diagnose"
)

const root = ".."

// The two commands that README.md opens with: the first runs the main job on
// a fresh machine, the second runs all tests. CI runs both as they stand.
var agreed = []string{
	`CGO_ENABLED=0 go build -o iocause . && $(command -v sudo) ./iocause diagnose`,
	`./test/all`,
}

// documents returns the Markdown files, keyed by their path from the root.
func documents(t *testing.T) map[string]string {
	t.Helper()
	docs := make(map[string]string)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && (name == ".git" || name == "testdata" || name == "dist") {
			return filepath.SkipDir
		}
		if !d.IsDir() && strings.HasSuffix(name, ".md") {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			docs[rel] = string(text)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(docs) == 0 {
		t.Fatal("no documents found")
	}
	return docs
}

// block is a fenced code block; info is what follows the opening fence.
type block struct {
	info  string
	lines []string
}

func blocks(text string) []block {
	var found []block
	var open *block
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch {
		case open == nil && strings.HasPrefix(line, "```"):
			open = &block{info: strings.TrimPrefix(line, "```")}
		case open != nil && strings.HasPrefix(line, "```"):
			found = append(found, *open)
			open = nil
		case open != nil:
			open.lines = append(open.lines, line)
		}
	}
	return found
}

// prose is the text without its code: links and headings in there are not ours.
func prose(text string) string {
	var b strings.Builder
	inside := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "```") {
			inside = !inside
			continue
		}
		if !inside {
			b.WriteString(line)
		}
	}
	return regexp.MustCompile("`[^`]*`").ReplaceAllString(b.String(), "")
}

var notInSlug = regexp.MustCompile(`[^\p{L}\p{N} _-]`)

// anchors are the fragments that a document's headings make.
func anchors(text string) map[string]bool {
	made := make(map[string]bool)
	inside := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "```") {
			inside = !inside
		}
		if inside || !strings.HasPrefix(line, "#") {
			continue
		}
		title := strings.ToLower(strings.TrimSpace(strings.TrimLeft(line, "#")))
		made[strings.ReplaceAll(notInSlug.ReplaceAllString(title, ""), " ", "-")] = true
	}
	return made
}

func TestRelativeLinksLeadSomewhere(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	docs := documents(t)
	for name, text := range docs {
		for _, m := range link.FindAllStringSubmatch(prose(text), -1) {
			target := m[1]
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			path, fragment, _ := strings.Cut(target, "#")
			full := name
			if path != "" {
				full = filepath.Join(filepath.Dir(name), path)
			}
			if _, err := os.Stat(filepath.Join(root, full)); err != nil {
				t.Errorf("%s links to %s, which is not there", name, target)
				continue
			}
			if text, ok := docs[full]; ok && fragment != "" && !anchors(text)[fragment] {
				t.Errorf("%s links to %s, which has no such heading", name, target)
			}
		}
	}
}

func TestReadmeOpensWithTheAgreedCommands(t *testing.T) {
	var got []string
	for _, b := range blocks(documents(t)["README.md"]) {
		if b.info == "sh" {
			got = append(got, b.lines...)
		}
	}
	for i, want := range agreed {
		if i >= len(got) || got[i] != want {
			t.Errorf("command %d of README.md must be %q; commands are %q", i+1, want, got)
		}
	}
}

func TestReadmeListsTheCausesThatAreJudged(t *testing.T) {
	var got []string
	row := regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\|")
	for _, m := range row.FindAllStringSubmatch(documents(t)["README.md"], -1) {
		got = append(got, m[1])
	}
	want := []string{string(diagnose.Healthy)}
	for _, c := range diagnose.List() {
		want = append(want, string(c.ID))
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("README.md lists %q, the code judges %q", got, want)
	}
}

func TestEveryDependencyIsArgued(t *testing.T) {
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	text := documents(t)[filepath.Join("docs", "dependencies.md")]
	require := regexp.MustCompile(`(?m)^(?:require )?\s*([a-z0-9.-]+\.[a-z]+/\S+) v\S+( // indirect)?$`)
	for _, m := range require.FindAllStringSubmatch(string(mod), -1) {
		if !strings.Contains(text, m[1]) {
			t.Errorf("docs/dependencies.md does not mention %s", m[1])
		}
	}
}

// Not in a document: notes to ourselves, paths of one machine, empty praise.
var unwanted = []*regexp.Regexp{
	regexp.MustCompile(`\b(TODO|FIXME|XXX|TBD)\b`),
	regexp.MustCompile(`(^|[\s"'(=])/(work|home|Users)/\w`),
	regexp.MustCompile(`(?i)\b(blazing(ly)?|world[- ]class|revolutionary|seamless(ly)?|cutting[- ]edge|effortless(ly)?|next[- ]gen(eration)?|supercharge[ds]?)\b`),
}

func TestUnwantedWords(t *testing.T) {
	for name, text := range documents(t) {
		for _, re := range unwanted {
			if m := re.FindString(text); m != "" {
				t.Errorf("%s: unwanted %q", name, m)
			}
		}
	}
}

// A block that opens with "```console run" is executed: each "$ iocause ..."
// line must exit 0, and the lines below it, if any, must be its output. A line
// "..." stands for any number of lines.
func TestConsoleBlocksRun(t *testing.T) {
	var binary string
	for name, text := range documents(t) {
		for _, b := range blocks(text) {
			if b.info != "console run" {
				continue
			}
			if binary == "" {
				binary = build(t)
			}
			for _, e := range examples(b) {
				t.Run(name+"/"+e.command, func(t *testing.T) { e.run(t, binary) })
			}
		}
	}
}

type example struct {
	command string
	output  []string
}

func examples(b block) []example {
	var found []example
	for _, line := range b.lines {
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			found = append(found, example{command: command})
		} else if len(found) > 0 {
			last := &found[len(found)-1]
			last.output = append(last.output, line)
		}
	}
	return found
}

func (e example) run(t *testing.T, binary string) {
	args := strings.Fields(e.command)
	if args[0] != "iocause" {
		t.Fatalf("only iocause is run from documents, not %q", args[0])
	}
	var stdout, stderr bytes.Buffer
	command := exec.CommandContext(t.Context(), binary, args[1:]...)
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", e.command, err, stderr.String())
	}
	if len(e.output) == 0 {
		return
	}
	pattern := "(?s)^"
	for _, line := range e.output {
		if line == "..." {
			pattern += ".*"
		} else {
			pattern += regexp.QuoteMeta(line) + "\n"
		}
	}
	if !regexp.MustCompile(pattern + "$").MatchString(stdout.String()) {
		t.Errorf("%s printed\n%s\nthe document says\n%s", e.command, stdout.String(), strings.Join(e.output, "\n"))
	}
}

func build(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "iocause")
	command := exec.CommandContext(t.Context(), "go", "build", "-o", binary, ".")
	command.Dir = root
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return binary
}
