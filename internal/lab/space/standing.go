package space

import (
	"context"
	"embed"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"iocause/internal/host"
	"iocause/internal/lab"
	"iocause/internal/lab/load"
	"iocause/internal/lab/prove"
	"iocause/internal/procfile"
)

//go:embed programs
var scripts embed.FS

// Standing is a situation while it stands.
type Standing struct {
	Situation *Situation
	program   *program
	binary    string
	host      *host.Host
	env       *lab.Env
	home      string // the memory cgroup that all start in
	disk      *lab.LoopDisk
	number    string // of the disk, MAJOR:MINOR
	dir       string // on the file system that is tried
	cgroup    *lab.Cgroup
	planted   *lab.Limits    // of the cgroup
	running   []*lab.Process // the program, and its clients
	meter     *prove.Meter   // of what runs now
	beside    []bystander
	warm      bool // cold data were read before, and shall stay
	// Processors, where it has one that it shares: all, that one, and the others.
	every, shared, others unix.CPUSet
}

// bystander is somebody else who is there.
type bystander struct {
	name   string
	causes []string // of which it is the culprit, if any
	comm   string
	*lab.Process
}

// diskName is the slow disk's.
const diskName = "disk"

// Stand sets a situation up. Close takes it down, also after an error.
func Stand(ctx context.Context, h *host.Host, binary, dir string, s *Situation) (*Standing, error) {
	env, err := lab.New(h, dir)
	if err != nil {
		return nil, err
	}
	st := &Standing{Situation: s, program: lookup(s.Program), binary: binary, host: h, env: env, home: lab.OwnMemoryCgroup(h)}
	ctx, cancel := context.WithTimeout(ctx, 2*patience)
	defer cancel()
	for _, step := range []struct {
		what string
		do   func(context.Context) error
	}{
		{"make the file system", st.makeDisk}, {"make the data", st.makeData}, {"make the cgroup", st.makeCgroup},
		{"start the bystanders", st.startBystanders}, {"start the program", st.startProgram}, {"plant the cause", st.plant},
	} {
		if err := step.do(ctx); err != nil {
			return st, fmt.Errorf("%s: %w", step.what, err)
		}
	}
	return st, nil
}

// Close takes everything down.
func (st *Standing) Close() error {
	var errs []error
	if st.disk != nil {
		errs = append(errs, st.env.Slow(diskName, 0))
	}
	for _, b := range st.beside {
		errs = append(errs, end(b.Process))
	}
	errs = append(errs, st.stopProgram(), st.env.Close())
	return errors.Join(errs...)
}

// end ends a process, also one that is paused.
func end(p *lab.Process) error {
	return errors.Join(p.Resume(), p.Stop(2*time.Second))
}

// script is the path of one of our programs, in the scratch folder.
func (st *Standing) script(name string) string { return filepath.Join(st.env.Scratch(), name) }

// data is the file or folder that the program works on.
func (st *Standing) data() string { return filepath.Join(st.dir, "data") }

// makeDisk makes the disk, as fast as it can be for now, and the file system.
func (st *Standing) makeDisk(context.Context) error {
	for _, name := range []string{"drive.py", "drive.js", "Drive.java"} {
		b, err := scripts.ReadFile("programs/" + name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(st.script(name), b, 0o755); err != nil {
			return err
		}
	}
	if err := os.MkdirAll("/var/empty-lab", 0o700); err != nil { // what rsync compares with: always empty
		return err
	}
	s := st.Situation
	if s.FS == "tmpfs" {
		dir, err := st.env.Mount("fs", "tmpfs", "")
		st.dir = dir
		return err
	}
	fs := s.FS
	if fs == "overlay" {
		fs = "ext4"
	}
	var err error
	if st.disk, err = st.env.SlowDisk(st.binary, diskName, &lab.ServedFile{Size: 2*s.Size + 2<<30, Heads: s.Heads, Keep: true}, 0); err != nil {
		return err
	}
	if err := st.env.Format("fs", st.disk, fs); err != nil {
		return err
	}
	if _, st.number, err = lab.DeviceOf(st.host, "/dev/"+st.disk.Device); err != nil {
		return err
	}
	st.dir = st.disk.Dir
	if s.FS == "overlay" { // it comes when there is something below it
		st.dir = filepath.Join(st.dir, "lower")
		return os.Mkdir(st.dir, 0o755)
	}
	return nil
}

// makeData makes what the program reads, and sees that none of it is cached: who
// reads it first is charged for it.
func (st *Standing) makeData(context.Context) error {
	s := st.Situation
	switch st.program.files {
	case oneFile:
		if s.Work != Compute {
			if err := load.Create(st.data(), s.Size); err != nil {
				return err
			}
		}
	case folders:
		if err := st.makeFolders(); err != nil {
			return err
		}
	}
	if s.FS == "tmpfs" {
		return nil
	}
	fs := s.FS
	if fs == "overlay" {
		fs = "ext4"
	}
	if err := st.env.Remount(st.disk, fs); err != nil {
		return err
	}
	if s.FS == "overlay" {
		dir, err := st.env.Overlay("over", st.disk.Dir)
		st.dir = dir
		return err
	}
	return nil
}

// Files of a folder, and their size.
const (
	inFolder = 20
	fileSize = 128 << 10
)

func (st *Standing) files() int { return max(inFolder, int(st.Situation.Size/fileSize)) }

// flat is where nginx finds its files by number.
func (st *Standing) flat() string { return filepath.Join(st.dir, "data", "flat") }

func (st *Standing) makeFolders() error {
	all := st.files()
	switch st.Situation.Program {
	case "nginx":
		for i := range all {
			if err := makeFile(filepath.Join(st.flat(), strconv.Itoa(i)), i); err != nil {
				return err
			}
		}
		return nil
	case "lmdb":
		return st.makeLMDB()
	}
	for i := range all {
		if err := makeFile(filepath.Join(st.data(), fmt.Sprintf("d%04d", i/inFolder), fmt.Sprintf("f%d", i)), i); err != nil {
			return err
		}
	}
	return nil
}

// makeFile makes a file whose content no other has.
func makeFile(path string, salt int) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(uint64(salt), 0))
	b := make([]byte, fileSize)
	for i := 0; i < len(b); i += 8 {
		binary.LittleEndian.PutUint64(b[i:], random.Uint64()|0x0101010101010101) // no byte is zero: a text, to grep
	}
	return os.WriteFile(path, b, 0o644)
}

// makeLMDB loads one database, and copies it.
func (st *Standing) makeLMDB() error {
	first := filepath.Join(st.data(), "d0000", "db")
	if err := os.MkdirAll(filepath.Dir(first), 0o755); err != nil {
		return err
	}
	script := fmt.Sprintf(`set -o pipefail; %s -c 'import os
print("VERSION=3\nformat=bytevalue\ntype=btree\nmapsize=67108864\nHEADER=END")
for i in range(20000): print(" %%08x\n %%s" %% (i, os.urandom(60).hex()))
print("DATA=END")' | mdb_load -n %s`, python(), first)
	if out, err := exec.Command("bash", "-c", script).CombinedOutput(); err != nil {
		return fmt.Errorf("load a database: %w: %s", err, last(out))
	}
	b, err := os.ReadFile(first)
	if err != nil {
		return err
	}
	for i := 1; i < max(8, int(st.Situation.Size)/len(b)); i++ {
		dir := filepath.Join(st.data(), fmt.Sprintf("d%04d", i))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, "db"), b, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (st *Standing) makeCgroup(context.Context) error {
	s := st.Situation
	l := &lab.Limits{Device: st.number}
	switch s.Plant {
	case Memory: // from nine tenths of the data to a quarter; a program needs some to live
		l.Memory = max(64<<20, int64(float64(s.Size)*(0.9-0.65*s.Strength))) + st.program.anonymous(s)
	case Throttle: // of what the disk can do, one half to a fiftieth
		can := float64(s.Heads) / s.Latency.Seconds()
		limit := max(4, int64(can*0.5*(1-0.96*s.Strength)))
		l.ReadIOPS, l.WriteIOPS = limit, limit
	case Hog:
		all, _ := s.hogged()
		l.Memory, l.Swappiness = all+st.program.anonymous(s), "0" // who holds it keeps it
	case Quota:
		l.CPUs = 0.6 - 0.5*s.Strength
	default:
		return nil
	}
	st.planted = l
	var err error
	st.cgroup, err = st.env.Cgroup("victim", l)
	return err
}

// anonymous is about what the program needs besides its data, in bytes.
func (p *program) anonymous(s *Situation) int64 {
	switch p.name {
	case "python", "sqlite":
		return 24<<20 + int64(s.Processes)*8<<20
	case "node", "nginx", "git", "rsync", "java":
		return 96 << 20
	}
	return 48 << 20
}

// startProgram starts it and waits until it is all there.
func (st *Standing) startProgram(ctx context.Context) error {
	if err := st.run(ctx, variant{}); err != nil {
		return err
	}
	if err := st.allThere(ctx); err != nil {
		return err
	}
	if st.disk != nil {
		return st.env.Slow(diskName, st.Situation.Latency)
	}
	return nil
}

// run starts the program in a variant; the meter is of that one from now on.
func (st *Standing) run(ctx context.Context, v variant) error {
	all, err := st.program.start(st, v)
	if err != nil {
		return err
	}
	st.meter = &prove.Meter{}
	st.running = nil
	for _, l := range all {
		in := st.cgroup
		client := !l.server && slices.ContainsFunc(all, func(l launch) bool { return l.server })
		if client { // elsewhere
			in = nil
		}
		argv := l.argv
		if len(l.env) > 0 {
			argv = append(append([]string{"env"}, l.env...), argv...)
		}
		var p *lab.Process
		if l.read != nil {
			p, err = st.env.StartTo(st.meter.From(l.read), argv, in, false)
		} else {
			p, err = st.env.Start(argv, in, false)
		}
		if err != nil {
			return err
		}
		st.running = append(st.running, p)
		if st.Situation.Plant == Shared && !client {
			if err := st.move(p, &st.every, &st.shared); err != nil {
				return err
			}
		}
		if l.chars {
			go st.follow(p, st.meter.From(prove.Number))
		}
	}
	begun := make(chan error, 1)
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	go func() { begun <- st.meter.Began(ctx) }()
	for {
		select {
		case err := <-begun:
			if err != nil {
				return fmt.Errorf("wait for the program to do its first work: %w: %s", err, st.complaint())
			}
			return nil
		case <-time.After(100 * time.Millisecond):
			if slices.ContainsFunc(st.running, (*lab.Process).Ended) {
				return fmt.Errorf("the program has ended: %s", st.complaint())
			}
		}
	}
}

// allThere waits until the program starts no more threads, and those that it has got
// have had time to open their files: while the disk takes no time. Hundreds of them on
// two processors take seconds, in which they wait for what they never wait for again.
func (st *Standing) allThere(ctx context.Context) error {
	const look, each, longest = 100 * time.Millisecond, 4 * time.Millisecond, 20 * time.Second
	most, since := 0, time.Now()
	for begun := since; time.Since(begun) < longest; {
		n := 0
		for _, p := range st.running {
			threads, err := st.threads(p)
			if err != nil {
				return err
			}
			n += len(threads)
		}
		if n > most {
			most, since = n, time.Now()
		}
		if time.Since(since) >= 2*look+time.Duration(most)*each {
			return nil
		}
		if err := lab.Sleep(ctx, look); err != nil {
			return err
		}
	}
	return nil // programs that start others all the time are there as they ever are
}

// follow tells what a process passes to write calls (/proc/PID/io) until it ends.
func (st *Standing) follow(p *lab.Process, to io.Writer) {
	before := -1.0
	for ; !p.Ended(); time.Sleep(100 * time.Millisecond) {
		did, err := procfile.ReadIO(st.host.Proc(strconv.Itoa(p.PID), "io"))
		if err != nil {
			continue // it ends
		}
		now := float64(did.WriteChars)
		if before >= 0 && now > before {
			fmt.Fprintf(to, "%.0f\n", now-before) // to memory: it does not fail
		}
		before = now
	}
}

// complaint is what the program's processes that have ended wrote to their
// standard error.
func (st *Standing) complaint() string {
	for _, p := range st.running {
		if p.Ended() && p.Stderr.Len() > 0 {
			return last(p.Stderr.Bytes())
		}
	}
	return "it says nothing"
}

func (st *Standing) stopProgram() error {
	var errs []error
	for _, p := range slices.Backward(st.running) {
		errs = append(errs, end(p))
	}
	st.running = nil
	return errors.Join(errs...)
}
