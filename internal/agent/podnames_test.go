package agent

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"iocause/internal/cri"
	"iocause/internal/require"
	"iocause/internal/sample"
	"iocause/internal/store/incidents"
)

// A pod is asked for once; one that is made anew under its name, and one that is
// renamed while it is watched, each keep the name of their own UID; a runtime that
// fails costs names, and is asked no more than once a minute.
func TestPodsAreNamed(t *testing.T) {
	now, asked := time.Unix(1_790_000_000, 0), 0
	runtime, down := map[string]cri.Pod{"a": {Name: "db-0", Namespace: "shop"}}, false
	var log require.Output
	p := newPodNames("/run/cri.sock", slog.New(slog.NewTextHandler(&log, nil)), func() time.Time { return now })
	p.list = func(context.Context, string) (*cri.Names, error) {
		asked++
		if down {
			return nil, errors.New("connection refused")
		}
		return &cri.Names{Pods: runtime, Containers: map[string]string{"c": "post\x1bgres"}}, nil
	}
	name := func(pod, container string) string {
		c := &incidents.Culprit{Identity: sample.Identity{Pod: pod, Container: container}}
		p.name(c)
		return c.Namespace + "/" + c.PodName + "/" + c.ContainerName
	}
	if got := name("a", "c"); got != `shop/db-0/post\x1bgres` || asked != 1 {
		t.Errorf("%s after %d questions", got, asked)
	}
	runtime = map[string]cri.Pod{"b": {Name: "db-0", Namespace: "shop"}} // a is gone
	if got := name("b", ""); got != "//" || asked != 1 {
		t.Errorf("%s after %d questions in a minute", got, asked)
	}
	now = now.Add(time.Minute)
	if got := name("b", "") + name("a", ""); got != "shop/db-0/shop/db-0/" || asked != 2 {
		t.Errorf("%s after %d questions", got, asked)
	}
	down, now = true, now.Add(time.Hour)
	for range 3 {
		if got := name("d", ""); got != "//" {
			t.Error(got)
		}
	}
	if asked != 3 || strings.Count(log.String(), "connection refused") != 1 {
		t.Errorf("%d questions: %s", asked, log.String())
	}
	(*podNames)(nil).name(&incidents.Culprit{})
	if got := name("", ""); got != "//" || asked != 3 {
		t.Errorf("who is in no pod is asked for: %s", got)
	}
}
