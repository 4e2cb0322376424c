package mcp

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// results are the newest answers, whole.
type results struct {
	lock sync.Mutex
	made int
	kept []result
}

type result struct {
	name string
	doc  []byte
}

// mostResults is how many answers are kept.
const mostResults = 8

// keep keeps a document and returns its name.
func (r *results) keep(doc []byte) string {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.made++
	name := "r" + strconv.Itoa(r.made)
	r.kept = append(r.kept, result{name, doc})
	r.kept = r.kept[max(0, len(r.kept)-mostResults):]
	return name
}

func (r *results) find(name string) []byte {
	r.lock.Lock()
	defer r.lock.Unlock()
	for _, k := range slices.Backward(r.kept) {
		if k.name == name {
			return k.doc
		}
	}
	return nil
}

// more shows a part of an answer that was given.
func (s *Server) more(_ context.Context, _ *sdk.CallToolRequest, q moreQuestion) (*sdk.CallToolResult, any, error) {
	doc := s.results.find(q.Result)
	if doc == nil {
		return nil, nil, fmt.Errorf("there is no result %q: only the last %d are kept; ask again", q.Result, mostResults)
	}
	if q.From < 0 || q.Count < 0 || q.Count > mostRows {
		return nil, nil, fmt.Errorf("from is %d and count %d: give 0 or more, and 1 to %d", q.From, q.Count, mostRows)
	}
	n, err := parse(doc)
	if err != nil {
		return nil, nil, err
	}
	part := n.at(q.At)
	if part == nil {
		return nil, nil, fmt.Errorf("there is nothing at %q in %s: give a JSON pointer that its 'cut' has, or that leads to a field of its 'answer'", q.At, q.Result)
	}
	of := len(part.items)
	switch {
	case part.open == '[' && q.From >= of && q.From > 0:
		return nil, nil, fmt.Errorf("from is %d, but the list has %d elements, counted from 0", q.From, of)
	case part.open == '[':
		part = &node{open: '[', items: part.items[q.From:]}
	case q.From > 0:
		return nil, nil, fmt.Errorf("there is no list at %q for 'from' to count in", q.At)
	}
	a, err := s.part(part, cmp.Or(q.Count, listed), func() string { return q.Result })
	if err != nil {
		return nil, nil, err
	}
	// What was cut is told by where it is in the whole.
	for i, c := range a.Cut {
		if c.At == "" && part.open == '[' {
			a.Cut[i].From, a.Cut[i].Of = q.From, of
		}
		a.Cut[i].At = q.At + shifted(c.At, q.From, part.open == '[')
	}
	a.Command = []string{}
	return nil, a, nil
}

// shifted is a pointer into a list from its element number by on.
func shifted(at string, by int, list bool) string {
	if !list || by == 0 || at == "" {
		return at
	}
	end := 1
	for end < len(at) && at[end] != '/' {
		end++
	}
	i, err := strconv.Atoi(at[1:end])
	if err != nil {
		return at
	}
	return "/" + strconv.Itoa(i+by) + at[end:]
}
