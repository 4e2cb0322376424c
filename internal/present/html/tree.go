// Package html draws profiles as flame graphs: a page that needs nothing but
// itself, and a still picture.
package html

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"iocause/internal/sample"
)

// Kinds of nodes.
const (
	userCode = iota
	kernelCode
	remark // of ours
	process
)

// node is a function as it was reached by the functions above it.
type node struct {
	name   string
	kind   int
	parent *node
	kids   []*node
	find   map[childKey]*node
	self   []value // time that ends here, of each state that has some
	before int64   // ns, of the other profile in a comparison; ends here
	sum    int64   // ns, with all below it, both profiles
	index  int
}

type childKey struct {
	name string
	kind int
}

// value is the time and count of a state, by its index.
type value struct {
	state     int
	ns, count int64
}

// add adds to the time that ends in the node.
func (n *node) add(v value) {
	for i := range n.self {
		if n.self[i].state == v.state {
			n.self[i].ns += v.ns
			n.self[i].count += v.count
			return
		}
	}
	n.self = append(n.self, v)
}

// child is the kid of a name, made if need be.
func (n *node) child(name string, kind int) *node {
	k := childKey{name, kind}
	c := n.only(k)
	if c == nil {
		c = n.find[k]
	}
	if c == nil {
		c = &node{name: name, kind: kind, parent: n}
		n.kids = append(n.kids, c)
		if len(n.kids) > 1 { // most have one: they need no map
			if n.find == nil {
				n.find = map[childKey]*node{{n.kids[0].name, n.kids[0].kind}: n.kids[0]}
			}
			n.find[k] = c
		}
	}
	return c
}

// only is the kid of a name if it is the only kid.
func (n *node) only(k childKey) *node {
	if len(n.kids) == 1 && n.kids[0].name == k.name && n.kids[0].kind == k.kind {
		return n.kids[0]
	}
	return nil
}

// treeOf is the tree of a profile. before is what it is compared with, nil for
// nothing.
func treeOf(p, before *sample.Profile) *node {
	root := &node{name: "all", kind: remark}
	states := statesOf(p)
	for i := range p.Stacks {
		s := &p.Stacks[i]
		end := root.place(s)
		end.add(value{slices.Index(states, s.State), p.Weight(s), int64(s.Count)})
	}
	if before != nil {
		for i := range before.Stacks {
			root.place(&before.Stacks[i]).before += before.Weight(&before.Stacks[i])
		}
	}
	root.total()
	return root
}

func (n *node) place(s *sample.Stack) *node {
	n = n.child(plain(cmp.Or(s.Process, "?")), process)
	for i := range s.Frames {
		f := s.Frames[i]
		kind := userCode
		switch {
		case f.Note:
			kind = remark
		case f.Kernel:
			kind = kernelCode
		}
		n = n.child(plain(cmp.Or(f.Name, "?")), kind)
	}
	return n
}

// statesOf are the states of a profile, each once.
func statesOf(p *sample.Profile) []string {
	states := slices.Clone(p.States)
	for i := range p.Stacks {
		if !slices.Contains(states, p.Stacks[i].State) {
			states = append(states, p.Stacks[i].State)
		}
	}
	return states
}

// total adds up, and puts the largest kid first.
func (n *node) total() int64 {
	n.sum = n.before
	for _, v := range n.self {
		n.sum += v.ns
	}
	for _, k := range n.kids {
		n.sum += k.total()
	}
	slices.SortFunc(n.kids, func(a, b *node) int { return cmp.Or(cmp.Compare(b.sum, a.sum), strings.Compare(a.name, b.name)) })
	return n.sum
}

// each calls f for the node and all below it, parents first.
func (n *node) each(f func(*node)) {
	f(n)
	for _, k := range n.kids {
		k.each(f)
	}
}

// thin keeps about the most largest nodes: what is smaller becomes one node
// below its parent, so that sums stay what they are. It returns how many nodes
// were put together.
func (n *node) thin(most int) int {
	var sums []int64
	n.each(func(x *node) { sums = append(sums, x.sum) })
	if len(sums) <= most {
		return 0
	}
	slices.Sort(sums)
	least := sums[len(sums)-most]
	return n.thinBelow(least)
}

func (n *node) thinBelow(least int64) int {
	var kept []*node
	rest := &node{kind: remark, parent: n}
	gone := 0
	for _, k := range n.kids {
		if k.sum >= least {
			gone += k.thinBelow(least)
			kept = append(kept, k)
			continue
		}
		k.each(func(x *node) {
			gone++
			rest.before += x.before
			for _, v := range x.self {
				rest.add(v)
			}
		})
		rest.sum += k.sum
	}
	if few := len(n.kids) - len(kept); few > 0 {
		rest.name = fmt.Sprintf("[%d smaller]", few)
		kept = append(kept, rest)
	}
	n.kids = kept
	return gone
}

// plain writes out what has no glyph of its own: names come from the system
// and may hold anything.
func plain(name string) string {
	if !strings.ContainsFunc(name, func(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }) {
		return name
	}
	var b strings.Builder
	for i := 0; i < len(name); {
		r, n := utf8.DecodeRuneInString(name[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, name[i])
		case !unicode.IsPrint(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
		i += n
	}
	return b.String()
}
