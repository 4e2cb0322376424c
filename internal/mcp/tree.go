package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"iocause/internal/present/text"
)

// node is a part of a JSON document, in the order in which it was written.
type node struct {
	open  json.Delim // '{' or '['; 0 of a leaf
	keys  []string   // of an object, escaped
	items []*node
	leaf  []byte // JSON; strings with what is invisible written out
}

// parse reads one document. Of several, one after the other, it makes a list.
func parse(doc []byte) (*node, error) {
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	all := &node{open: '['}
	for {
		t, err := d.Token()
		if errors.Is(err, io.EOF) && len(all.items) > 0 {
			if len(all.items) == 1 {
				return all.items[0], nil
			}
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading the answer: %w", err)
		}
		n, err := parseValue(d, t)
		if err != nil {
			return nil, fmt.Errorf("reading the answer: %w", err)
		}
		all.items = append(all.items, n)
	}
}

// parseValue reads what begins with a token.
func parseValue(d *json.Decoder, t json.Token) (*node, error) {
	open, ok := t.(json.Delim)
	if !ok {
		if s, is := t.(string); is {
			t = text.Escape(s)
		}
		leaf, err := json.Marshal(t)
		return &node{leaf: leaf}, err
	}
	n := &node{open: open}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, err
		}
		if open == '{' {
			n.keys = append(n.keys, text.Escape(t.(string))) // a decoder gives no other token there
			if t, err = d.Token(); err != nil {
				return nil, err
			}
		}
		item, err := parseValue(d, t)
		if err != nil {
			return nil, err
		}
		n.items = append(n.items, item)
	}
	_, err := d.Token()
	return n, err
}

// cut is a list that was not shown whole.
type cut struct {
	At    string `json:"at"`             // JSON pointer into the answer
	From  int    `json:"from,omitempty"` // element that is shown first
	Shown int    `json:"shown"`
	Of    int    `json:"of"`
}

// writer writes a document with at most so many elements of each list.
type writer struct {
	out  bytes.Buffer
	most int
	cuts []cut
}

func (w *writer) write(n *node, at string) {
	switch n.open {
	case '{':
		w.out.WriteByte('{')
		for i, key := range n.keys {
			if i > 0 {
				w.out.WriteByte(',')
			}
			name, _ := json.Marshal(key) // of a string it cannot fail
			w.out.Write(name)
			w.out.WriteByte(':')
			w.write(n.items[i], at+"/"+pointerEscaper().Replace(key))
		}
		w.out.WriteByte('}')
	case '[':
		shown := min(len(n.items), w.most)
		if shown < len(n.items) {
			w.cuts = append(w.cuts, cut{At: at, Shown: shown, Of: len(n.items)})
		}
		w.out.WriteByte('[')
		for i, item := range n.items[:shown] {
			if i > 0 {
				w.out.WriteByte(',')
			}
			w.write(item, at+"/"+strconv.Itoa(i))
		}
		w.out.WriteByte(']')
	default:
		w.out.Write(n.leaf)
	}
}

// errTooLarge is a document that does not fit with one element of each list.
var errTooLarge = errors.New("it is too large even with one element of each list")

// fit writes the document in at most so many bytes: with rows elements of each
// list, or with half as many, and so on.
func (n *node) fit(rows, bytes int) ([]byte, []cut, error) {
	for most := rows; most > 0; most /= 2 {
		w := writer{most: most}
		w.write(n, "")
		if w.out.Len() <= bytes {
			return w.out.Bytes(), w.cuts, nil
		}
	}
	return nil, nil, errTooLarge
}

func pointerEscaper() *strings.Replacer   { return strings.NewReplacer("~", "~0", "/", "~1") }
func pointerUnescaper() *strings.Replacer { return strings.NewReplacer("~1", "/", "~0", "~") }

// at is the part that a JSON pointer (RFC 6901) names; nil where there is none.
func (n *node) at(pointer string) *node {
	if pointer == "" {
		return n
	}
	if pointer[0] != '/' {
		return nil
	}
next:
	for name := range strings.SplitSeq(pointer[1:], "/") {
		switch n.open {
		case '{':
			name = pointerUnescaper().Replace(name)
			for i, key := range n.keys {
				if key == name {
					n = n.items[i]
					continue next
				}
			}
		case '[':
			if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < len(n.items) {
				n = n.items[i]
				continue next
			}
		}
		return nil
	}
	return n
}
