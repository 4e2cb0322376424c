package main

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"iocause/internal/bpf/bpftest"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == asAgent {
		if err := runAgent(context.Background(), os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// The live agent loses nothing and sends nothing twice while an engine is away
// for some seconds and the agent is killed meanwhile.
func TestEveryValueArrivesOnce(t *testing.T) {
	for _, e := range engines() {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			bpftest.Need(t, e.name, e.find())
			o, err := plan{before: 2 * time.Second, outage: 3 * time.Second}.try(t.Context(), e)
			if err != nil {
				t.Fatal(err)
			}
			if err := o.wrong(); err != nil {
				t.Error(err)
			}
			if o.series < 50 || o.recorded < 5*o.series/2 {
				t.Errorf("only %d values of %d series were compared", o.recorded, o.series)
			}
		})
	}
}
