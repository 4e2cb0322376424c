package agent

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"iocause/internal/cri"
	"iocause/internal/store/incidents"
)

// podNames are what the container runtime calls pods and containers. They are asked
// for when a culprit is one that is not known yet, and anew where the last answer is
// old: a name may come back with another UID, and what is known of a UID stays. Safe
// for concurrent use.
type podNames struct {
	socket string // "" for none
	log    *slog.Logger
	now    func() time.Time
	list   func(ctx context.Context, socket string) (*cri.Names, error)

	mu    sync.Mutex
	known cri.Names
	asked time.Time
	said  bool
}

const (
	// askAgain is how long after an answer one that is not in it is asked for again.
	askAgain = time.Minute
	// mostNames are known; beyond, what was known before is forgotten.
	mostNames = 4096
)

func newPodNames(socket string, log *slog.Logger, now func() time.Time) *podNames {
	return &podNames{socket: socket, log: log, now: now, list: cri.List}
}

// name says what a culprit's pod and container are called, as far as it can be told.
func (p *podNames) name(c *incidents.Culprit) {
	if p == nil || c == nil || p.socket == "" || c.Pod == "" && c.Container == "" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	pod, known := p.known.Pods[c.Pod]
	container, there := p.known.Containers[c.Container]
	if now := p.now(); (c.Pod != "" && !known || c.Container != "" && !there) && now.Sub(p.asked).Abs() >= askAgain {
		p.asked = now
		p.ask()
		pod, container = p.known.Pods[c.Pod], p.known.Containers[c.Container]
	}
	c.PodName, c.Namespace, c.ContainerName = harmless(pod.Name), harmless(pod.Namespace), harmless(container)
}

// ask adds what the runtime says to what is known; the lock is held.
func (p *podNames) ask() {
	n, err := p.list(context.Background(), p.socket)
	if err != nil {
		if !p.said {
			p.log.Warn("names of pods are not known", "why", err)
			p.said = true
		}
		return
	}
	p.said = false
	if p.known.Pods == nil || len(p.known.Pods)+len(p.known.Containers) > mostNames {
		p.known = *n
		return
	}
	for uid, pod := range n.Pods {
		p.known.Pods[uid] = pod
	}
	for id, name := range n.Containers {
		p.known.Containers[id] = name
	}
}
