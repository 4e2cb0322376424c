package cli

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"iocause/internal/ask"
	"iocause/internal/incident"
	"iocause/internal/present/text"
	"iocause/internal/tool/profile"
)

// titleWaits heads what offcpu shows.
const titleWaits = "Where threads wait"

func newOffCPUCommand(e *env) *cobra.Command {
	o := &profileOptions{}
	var min time.Duration
	var states string
	var wakers bool
	c := &cobra.Command{
		Use:   "offcpu [flags]",
		Short: "Show in which code threads wait, and for what",
		Long: helpOf("offcpu", "{states}", strings.Join(text.Wrap("States: "+strings.Join(profile.WaitStates(), ", ")+". Groups: "+profile.Groups()+
			". Without --state: waits for I/O, memory, locks and processors; not futex (conditions and uncontended locks; contended ones are mutex), network, ipc, idle, stopped.", 79), "\n")),
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			keep, err := profile.StatesOf(states)
			if err != nil {
				return err
			}
			if data, err := readEvidence(e, c, &o.playback, incident.SectionOffCPU); err != nil {
				return err
			} else if data != nil {
				return playStacks(e.streams, c, o, incident.SectionOffCPU, titleWaits, data, keep)
			}
			ask, err := o.check(e, c)
			if err != nil {
				return err
			}
			ask.Min, ask.Wakers = min, wakers
			return observeProfile(e, c, o, ask, titleWaits, keep)
		},
	}
	o.bind(c, "wait")
	f := c.Flags()
	f.Var(ask.TimeIn(&min, time.Millisecond), "min", "add up shorter waits to this")
	f.StringVar(&states, "state", "", "only these waits (disk,lock,...; all)")
	f.BoolVar(&wakers, "wakers", false, "add the stack of the thread that ended the wait")
	o.playback.bind(c)
	o.bindOutput(c, "perfetto")
	return c
}
