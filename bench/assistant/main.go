// Assistant asks an AI assistant what made programs slow in the lab's recorded
// situations, whose causes are known: once with the server 'iocause mcp', once with
// the tables alone that vmstat, iostat and pidstat would give. It scores the answers.
//
//	go run ./bench/assistant -iocause ./iocause [-only sync-writes,...] [-assistant 'claude -p --mcp-config {mcp}']
//
// The assistant's command gets the question on its standard input and answers on its
// standard output; {mcp} is replaced by a file that names the server (with it), or
// names none (without). The last line of the answer must be "CAUSE: ID". Without
// -assistant only the server is asked, as an assistant's client does: does the answer
// of its tool diagnose hold the cause, and how large is it?
package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"iocause/internal/diagnose"
)

// situation is a recording whose cause is known.
type situation struct{ name, file, before, about, cause string }

//go:embed about.tsv
var programs string

// about are the programs that are slow in each.
func about() map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(programs) {
		name, program, _ := strings.Cut(strings.TrimSpace(line), "\t")
		all[name] = program
	}
	return all
}

// causes are all IDs that an answer may have.
func causes() []string {
	all := []string{string(diagnose.Healthy), string(diagnose.Unknown)}
	for _, d := range diagnose.List() {
		all = append(all, string(d.ID))
	}
	return all
}

// situations are those of a folder; a cause's ID is the begin of its file's name.
func situations(dir, only string) (all []situation, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.iocause"))
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		s := situation{name: strings.TrimSuffix(filepath.Base(f), ".iocause")}
		if s.file, err = filepath.Abs(f); err != nil {
			return nil, err
		}
		if strings.HasSuffix(s.name, "-before") || only != "" && !slices.Contains(strings.Split(only, ","), s.name) {
			continue
		}
		if before := strings.TrimSuffix(s.file, ".iocause") + "-before.iocause"; exists(before) {
			s.before = before
		}
		for _, id := range causes() {
			if strings.HasPrefix(s.name, id) && len(id) > len(s.cause) {
				s.cause = id
			}
		}
		s.about = about()[s.name]
		if s.cause == "" || s.about == "" {
			return nil, fmt.Errorf("%s: its cause or its program is not known", f)
		}
		all = append(all, s)
	}
	return all, nil
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "assistant:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	program := flag.String("iocause", "./iocause", "the program")
	dir := flag.String("dir", "internal/cli/testdata/situations", "folder of recordings")
	only := flag.String("only", "", "names of situations, comma-separated; all without it")
	assistant := flag.String("assistant", "", "command of an assistant; only the server is asked without it")
	flag.Parse()
	path, err := filepath.Abs(*program)
	if err != nil {
		return err
	}
	all, err := situations(*dir, *only)
	if err != nil || len(all) == 0 {
		return fmt.Errorf("no situations in %s: %w", *dir, err)
	}
	fmt.Println("| situation | cause | in the tool's answer | bytes | with the server | without |\n|---|---|---|---|---|---|")
	right := [3]int{}
	total := 0
	for _, s := range all {
		primary, size, err := askServer(ctx, path, &s)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		total += size
		said := [3]string{primary, "not asked", "not asked"}
		for i, with := range []bool{true, false} {
			if *assistant == "" {
				continue
			}
			if said[i+1], err = askAssistant(ctx, path, *assistant, &s, with); err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
		}
		for i := range said {
			if said[i] == s.cause {
				right[i]++
				said[i] = "yes"
			}
		}
		fmt.Printf("| %s | %s | %s | %d | %s | %s |\n", s.name, s.cause, said[0], size, said[1], said[2])
	}
	last := [2]string{"not asked", "not asked"}
	if *assistant != "" {
		last = [2]string{fmt.Sprintf("%d right", right[1]), fmt.Sprintf("%d right", right[2])}
	}
	fmt.Printf("| %d situations | | %d right | %d on average | %s | %s |\n", len(all), right[0], total/len(all), last[0], last[1])
	return nil
}

// askServer starts the server as a client does, calls its tool and gives the cause
// that comes first and the size of the answer.
func askServer(ctx context.Context, program string, s *situation) (primary string, size int, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	arguments, err := json.Marshal(map[string]string{"recording": s.file, "comm": s.about, "against": s.before})
	if s.before == "" {
		arguments, err = json.Marshal(map[string]string{"recording": s.file, "comm": s.about})
	}
	if err != nil {
		return "", 0, err
	}
	c := exec.CommandContext(ctx, program, "mcp")
	in, err := c.StdinPipe()
	if err != nil {
		return "", 0, err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return "", 0, err
	}
	c.Stderr = os.Stderr
	if err := c.Start(); err != nil {
		return "", 0, err
	}
	defer c.Wait() // what it answered counts
	defer in.Close()
	fmt.Fprintf(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"diagnose","arguments":%s}}
`, arguments)
	for d := json.NewDecoder(out); ; {
		var m struct {
			ID     int
			Error  *struct{ Message string }
			Result struct {
				IsError bool
				Content []struct{ Text string }
			}
		}
		if err := d.Decode(&m); err != nil {
			return "", 0, fmt.Errorf("the server ended: %w", err)
		}
		switch {
		case m.Error != nil:
			return "", 0, fmt.Errorf("the server refuses: %s", m.Error.Message)
		case m.ID != 2:
			continue
		case m.Result.IsError || len(m.Result.Content) == 0:
			return "", 0, fmt.Errorf("the tool fails: %+v", m.Result.Content)
		}
		text := m.Result.Content[0].Text
		var a struct{ Answer struct{ Primary string } }
		if err := json.Unmarshal([]byte(text), &a); err != nil {
			return "", 0, err
		}
		return a.Answer.Primary, len(text), nil
	}
}

// askAssistant asks one question, and gives the cause of the answer.
func askAssistant(ctx context.Context, program, command string, s *situation, with bool) (string, error) {
	dir, err := os.MkdirTemp("", "assistant")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	servers := map[string]any{}
	question := fmt.Sprintf("The program %q was slow on a Linux machine. Find the cause. Do not change anything. "+
		"End with a line 'CAUSE: ID', where ID is one of: %s.\n", s.about, strings.Join(causes(), ", "))
	if with {
		servers["iocause"] = map[string]any{"command": program, "args": []string{"mcp"}}
		question += fmt.Sprintf("The MCP server iocause can read the recording %s of that time.\n", s.file)
		if s.before != "" {
			question += fmt.Sprintf("A recording of better times is %s.\n", s.before)
		}
	} else {
		for _, table := range []string{"use", "disk"} {
			b, err := exec.CommandContext(ctx, program, table, "--recording", s.file).Output()
			if err != nil {
				return "", fmt.Errorf("showing the tables: %w", err)
			}
			question += "\n" + string(b)
		}
	}
	config, err := json.Marshal(map[string]any{"mcpServers": servers})
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "mcp.json")
	if err := os.WriteFile(file, config, 0o600); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, "sh", "-c", strings.ReplaceAll(command, "{mcp}", file))
	c.Dir, c.Stdin, c.Stderr = dir, strings.NewReader(question), os.Stderr
	var out bytes.Buffer
	c.Stdout = &out
	if err := c.Run(); err != nil {
		return "", fmt.Errorf("asking the assistant: %w", err)
	}
	return causeIn(out.String()), nil
}

// causeIn is the cause that the last such line of an answer names.
func causeIn(answer string) string {
	all := regexp.MustCompile("(?m)^[*`_ ]*CAUSE:[*`_ ]*([a-z0-9-]+)").FindAllStringSubmatch(answer, -1)
	if len(all) == 0 {
		return "no answer"
	}
	return all[len(all)-1][1]
}
