// Package mcp answers assistants over the Model Context Protocol, on standard
// input and output (modelcontextprotocol.io, "stdio"). A tool is a command line of
// iocause that only looks, so that an assistant gets the finding that a person
// gets. What it answers with is bounded, and names of the system are data in it.
package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"iocause/internal/present/text"
)

// Limits of one answer, in bytes.
const (
	mostShown = 32 << 10 // what is sent of it
	mostKept  = 8 << 20  // what is kept of it, for 'more'
	mostAsked = 4 << 20  // one message of the client
)

// Runner runs one command line of iocause and returns its exit code.
type Runner func(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int

// Server answers one client.
type Server struct {
	Version string
	Dir     string // the agent's directory
	Run     Runner

	results results
	one     chan struct{} // taken while the machine is watched
	over    context.Context
	asked   sync.WaitGroup // calls that are being answered
}

// Serve answers until the client closes in or ctx ends. What was being watched
// then is ended before it returns.
func (s *Server) Serve(ctx context.Context, in io.ReadCloser, out io.Writer) error {
	over, end := context.WithCancel(ctx)
	s.over, s.one = over, make(chan struct{}, 1)
	server := sdk.NewServer(&sdk.Implementation{Name: "iocause", Title: "iocause: why is I/O slow?", Version: s.Version},
		&sdk.ServerOptions{Instructions: instructions, Capabilities: &sdk.ServerCapabilities{}})
	s.addTools(server)
	stop := context.AfterFunc(ctx, end)
	err := server.Run(over, &sdk.IOTransport{Reader: &messages{ReadCloser: in}, Writer: open{out}})
	stop()
	end()
	s.asked.Wait()
	if ctx.Err() != nil || errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("answering over the Model Context Protocol: %w", err)
	}
	return nil
}

// instructions are what the client's model is told of the server.
const instructions = "iocause finds out why I/O is slow on the Linux machine that it runs on. Call 'diagnose' first; its answer has 'next_steps'. " +
	"All tools only look: what changes the machine is for a person to do. " + hostile

// open is a writer that is not closed with the connection.
type open struct{ io.Writer }

func (open) Close() error { return nil }

// messages refuses a message that is too long to be one.
type messages struct {
	io.ReadCloser
	since int // bytes since the last end of a line
}

func (m *messages) Read(p []byte) (int, error) {
	n, err := m.ReadCloser.Read(p)
	if at := bytes.LastIndexByte(p[:n], '\n'); at >= 0 {
		m.since = n - at - 1
	} else {
		m.since += n
	}
	if m.since > mostAsked {
		return 0, fmt.Errorf("a message of the client has more than %d MiB", mostAsked>>20)
	}
	return n, err
}

// add gives the server a tool that asks Q.
func add[Q question](s *Server, to *sdk.Server, t *sdk.Tool) {
	sdk.AddTool(to, t, func(ctx context.Context, r *sdk.CallToolRequest, q Q) (*sdk.CallToolResult, any, error) {
		return s.answer(ctx, r, q)
	})
}

// addView gives the server a tool that shows the tables of the command of its name.
func (s *Server) addView(to *sdk.Server, t *sdk.Tool) {
	sdk.AddTool(to, t, func(ctx context.Context, r *sdk.CallToolRequest, q viewQuestion) (*sdk.CallToolResult, any, error) {
		q.name = t.Name
		return s.answer(ctx, r, q)
	})
}

// answer is what a tool says.
type answer struct {
	Note      string          `json:"note"`
	Command   []string        `json:"command"`        // what a person would type
	Said      []string        `json:"said,omitempty"` // notes beside the answer
	NextSteps []step          `json:"next_steps,omitempty"`
	Result    string          `json:"result,omitempty"` // for 'more', where something was cut
	Cut       []cut           `json:"cut,omitempty"`
	CutMore   int             `json:"cut_more,omitempty"` // lists that are cut and not among Cut
	Answer    json.RawMessage `json:"answer"`
}

// answer runs the command line of a question.
func (s *Server) answer(ctx context.Context, r *sdk.CallToolRequest, q question) (*sdk.CallToolResult, any, error) {
	s.asked.Add(1)
	defer s.asked.Done()
	ctx, end := context.WithCancel(ctx)
	defer end()
	defer context.AfterFunc(s.over, end)()
	l, err := q.line(s.Dir)
	if err != nil {
		return nil, nil, err
	}
	if l.seconds > 0 {
		select {
		case s.one <- struct{}{}:
			defer func() { <-s.one }()
		case <-ctx.Done():
			return nil, nil, fmt.Errorf("waiting for what is being watched to end: %w", ctx.Err())
		}
		defer progress(ctx, r, l.seconds)()
	}
	out, notes := &bounded{most: mostKept}, &bounded{most: mostShown / 4}
	code := s.Run(ctx, l.args, strings.NewReader(l.stdin), out, notes)
	switch {
	case ctx.Err() != nil:
		return nil, nil, fmt.Errorf("watching: %w", ctx.Err())
	case out.over:
		return nil, nil, fmt.Errorf("the answer has more than %d MiB; narrow the question: one process, device or file, or a shorter time", mostKept>>20)
	case code != 0 && out.Len() == 0:
		return nil, nil, errors.New(strings.Join(linesOf(notes.String()), "\n"))
	}
	a, err := s.shown(out.Bytes(), l.rows)
	if err != nil {
		return nil, nil, err
	}
	a.Command, a.Said = escaped(append([]string{"iocause"}, l.args...)), linesOf(notes.String())
	if asksWhy, is := any(q).(diagnoseQuestion); is {
		a.NextSteps = nextSteps(out.Bytes(), asksWhy)
	}
	return nil, a, nil
}

// shown is as much of a document as is sent at once. The rest is kept.
func (s *Server) shown(doc []byte, rows int) (*answer, error) {
	n, err := parse(doc)
	if err != nil {
		return nil, err
	}
	return s.part(n, rows, func() string { return s.results.keep(doc) })
}

// mostCuts is how many lists that are cut are named.
const mostCuts = 20

// part is as much of a part of an answer as is sent at once.
func (s *Server) part(n *node, rows int, keep func() string) (*answer, error) {
	shown, cuts, err := n.fit(rows, mostShown)
	if err != nil {
		return nil, fmt.Errorf("showing %s: %w; ask 'more' for a part with 'at', or narrow the question", keep(), err)
	}
	a := &answer{Note: hostile, Answer: shown, Cut: cuts}
	if len(cuts) > 0 {
		a.Result = keep()
	}
	if len(cuts) > mostCuts {
		a.Cut, a.CutMore = cuts[:mostCuts], len(cuts)-mostCuts
	}
	return a, nil
}

// linesOf are the lines of notes, harmless.
func linesOf(notes string) []string {
	return escaped(strings.FieldsFunc(notes, func(r rune) bool { return r == '\n' }))
}

func escaped(all []string) []string {
	out := make([]string, len(all))
	for i, s := range all {
		out[i] = text.Escape(s)
	}
	return out
}

// bounded keeps what is written, so much at most. What is more fails the writer.
type bounded struct {
	bytes.Buffer
	most int
	over bool
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > b.most {
		b.over = true
		return 0, fmt.Errorf("writing the answer: it has more than %d bytes", b.most)
	}
	return b.Buffer.Write(p)
}

// progress tells a client that wants to know how far the watching is, until it
// is stopped.
func progress(ctx context.Context, r *sdk.CallToolRequest, seconds float64) (stop func()) {
	token := r.Params.GetProgressToken()
	if token == nil {
		return func() {}
	}
	const every = time.Second
	tick, began, done := time.NewTicker(every), time.Now(), make(chan struct{})
	go func() {
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				// A client that does not take it is none that waits.
				_ = r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: token,
					Progress: time.Since(began).Seconds(), Total: seconds, Message: "watching this machine"})
			}
		}
	}()
	return func() {
		tick.Stop()
		close(done)
	}
}
