package cgroup

import (
	"slices"
	"time"

	"iocause/internal/host"
)

// kept is what is remembered of a cgroup from pass to pass, while its directory is
// watched.
type kept struct {
	watch    int32
	settings []setting
	files    []file
	// Of version 1: the requests and, read after them, the bytes. Each bio adds to the
	// bytes and then to the requests, so with the same requests the bytes are the same.
	served, moved []byte
	// Without a limit of processor time there were no periods of one, and none can come.
	noPeriods bool
}

// file is one that stays open.
type file struct {
	name string
	host.Kept
}

// mostOpen is how many files stay open, of three to eight of each cgroup. With each the
// kernel keeps a page.
const mostOpen = 1024

// setting is a file that nothing but a write changes.
type setting struct {
	name, text string
	read       bool // since it was last written
}

// rereadEvery is how often everything is listed and read again though no event told of a
// change: the kernel drops limits of a disk that is gone without a write.
const rereadEvery = 5 * time.Minute

// begin prepares a pass. Where others are to follow, it watches what changes, and forgets
// what did since the pass before.
func (s *source) begin(follow bool) {
	s.pass++
	if !follow || s.unwatchable {
		s.forget()
		return
	}
	if now := time.Now(); now.Sub(s.reread) >= rereadEvery {
		s.reread = now
		s.changed(event{lost: true})
	}
	if s.watch == nil {
		var err error
		if s.watch, err = newWatch(); err != nil {
			s.unwatchable = true
		}
		return
	}
	if err := s.watch.take(s.changed); err != nil {
		s.unwatchable = true
		s.forget()
	}
}

// changed takes one event.
func (s *source) changed(e event) {
	if e.lost {
		for _, w := range s.walks {
			w.listed = false
			for _, k := range w.kept {
				k.settings = nil
			}
		}
		return
	}
	for _, w := range s.walks {
		k := w.watched[e.in]
		if k == nil {
			continue
		}
		if e.tree {
			w.listed = false
		}
		k.written(string(e.name))
	}
}

// written drops what a file said.
func (k *kept) written(name string) {
	if k == nil {
		return
	}
	for i := range k.settings {
		if k.settings[i].name == name {
			k.settings[i].read = false
		}
	}
}

// forget ends the watch and drops all that was remembered.
func (s *source) forget() {
	if s.watch != nil {
		s.watch.close() // nothing is lost with it
		s.watch = nil
	}
	for _, w := range s.walks {
		for _, k := range w.watched {
			s.leave(k)
		}
	}
	clear(s.walks)
}

// setting reads a file that nothing but a write changes, unless what it says is known.
// The text is valid until the next read.
func (s *source) setting(g group, name string) (b []byte, known, ok bool) {
	if g.kept == nil {
		b, ok = s.read(g, name)
		return b, false, ok
	}
	i := slices.IndexFunc(g.kept.settings, func(x setting) bool { return x.name == name })
	if i >= 0 && g.kept.settings[i].read {
		s.buf = append(s.buf[:0], g.kept.settings[i].text...)
		return s.buf, true, true
	}
	var err error
	if s.buf, err = host.ReadRecord(g.dir+"/"+name, s.buf); !s.have(err) {
		return nil, false, false
	}
	if i < 0 {
		i = len(g.kept.settings)
		g.kept.settings = append(g.kept.settings, setting{name: name})
	}
	g.kept.settings[i].text, g.kept.settings[i].read = string(s.buf), true
	return s.buf, false, true
}

// readKept reads a file that stays open, while there are not too many of them.
func (s *source) readKept(g group, name string) (b []byte, ok bool) {
	k := g.kept
	i := slices.IndexFunc(k.files, func(x file) bool { return x.name == name })
	var err error
	switch path := g.dir + "/" + name; {
	case i >= 0:
		if s.buf, err = k.files[i].Read(s.buf); err != nil { // the cgroup is gone, or its controller
			k.files[i].Close()
			k.files = slices.Delete(k.files, i, i+1)
			s.open--
		}
	case s.open >= mostOpen:
		s.buf, err = host.ReadRecord(path, s.buf)
	default:
		var f host.Kept
		if f, err = host.Keep(path); err == nil {
			k.files = append(k.files, file{name, f})
			s.open++
			return s.readKept(g, name)
		}
	}
	return s.buf, s.have(err)
}

// leave closes the files of a cgroup.
func (s *source) leave(k *kept) {
	for _, f := range k.files {
		f.Close()
	}
	s.open -= len(k.files)
	k.files = nil
}

// walked is a hierarchy as it was listed.
type walked struct {
	groups []group
	more   bool
	err    error
	listed bool // as it is, while no event tells otherwise
	pass   int  // that it was listed in
	kept   map[uint64]*kept
	// The same by their watches: those of directories that are gone are ended.
	watched map[int32]*kept
}

// list lists a hierarchy, unless it is as it was.
func (s *source) list(t host.Hierarchy) *walked {
	w := s.walks[t]
	if w == nil {
		w = &walked{}
		s.walks[t] = w
	}
	if w.listed || w.pass == s.pass {
		return w
	}
	w.pass = s.pass
	before := w.watched
	w.watched = map[int32]*kept{}
	known := map[uint64]*kept{}
	w.groups, w.more, w.err = walk(t, func(g *group) {
		if s.watch == nil {
			return
		}
		n, err := s.watch.add(g.dir) // before its cgroups are listed: none is missed
		if err != nil {
			return // removed meanwhile, or there are too many watches
		}
		k := w.kept[g.id]
		if k == nil || k.watch != n {
			k = &kept{watch: n}
		}
		known[g.id], w.watched[n], g.kept = k, k, k
	})
	for n, k := range before {
		if w.watched[n] == nil {
			s.watch.remove(n)
			s.leave(k)
		}
	}
	w.kept = known
	w.listed = w.err == nil && !slices.ContainsFunc(w.groups, func(g group) bool { return g.kept == nil })
	return w
}
