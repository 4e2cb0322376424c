package cli

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"iocause/internal/ask"
	"iocause/internal/incident"
	"iocause/internal/present/text"
	"iocause/internal/replay"
	"iocause/internal/version"
)

// playback are the flags of a command that also answers from a recording.
type playback struct {
	file, from, to, dir string
}

func (p *playback) bind(c *cobra.Command) {
	of, in, also := "replay a file of 'iocause record', an incident (its number or file), or an agent's directory", "the recording or else in the agent's history", "; +30s in a recording"
	if incident.ViewOf(c.Name()).Lacking != "" { // what it shows is in no recording
		of, in, also = "show what an incident kept (its number or file), or the newest in an agent's directory", "the agent's history, for its newest incident", ""
	}
	f := c.Flags()
	f.StringVar(&p.file, "recording", "", of)
	f.StringVar(&p.from, "from", "", "start there, in "+in+": 14:00, \"yesterday 14:00\", \"10m ago\", RFC 3339"+also)
	f.StringVar(&p.to, "to", "", "end there")
	f.StringVar(&p.dir, "dir", stateDir, "the agent's directory")
}

// asked tells whether something that was recorded is to be played.
func (p *playback) asked(c *cobra.Command) (bool, error) {
	if c.Flags().Changed("recording") && p.file == "" {
		return false, &ask.Error{Err: errors.New("reading --recording: the name is empty"), Next: "give a file that 'iocause record' has made"}
	}
	p.file = replay.Numbered(p.dir, p.file)
	if info, err := os.Stat(p.file); err == nil && info.IsDir() { // an agent's
		p.dir, p.file = p.file, ""
		return true, replay.OfAgent(p.dir)
	}
	return p.file+p.from+p.to != "", nil
}

func (p *playback) interval() *replay.Interval { return &replay.Interval{From: p.from, To: p.to} }

// openPlayback opens the recording, or without one what the agent kept. ofProbes tells
// that the command shows what kernel programs see. Its Close says on standard
// error what it lacks.
func openPlayback(e *env, p *playback, ofProbes bool) (*replay.Playback, error) {
	return newOpener(e, p.dir).Open(p.file, p.interval(), ofProbes)
}

// newOpener opens what was kept. dir is the agent's directory.
func newOpener(e *env, dir string) *replay.Opener {
	return &replay.Opener{Dir: dir, Program: version.Program(), Now: e.host.Now, Note: func(err error) {
		fmt.Fprintf(e.stderr, "iocause: %s%s\n", text.Escape(err.Error()), asRoot(err, os.Geteuid()))
	}}
}
