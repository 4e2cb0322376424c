// Package lab builds situations whose cause is known (limits, throttles,
// scarce memory, loads) and takes them down again whatever happens: every
// change is written to a journal before it is made, and closing an
// environment and sweeping up after a run that died are the same code.
package lab

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"iocause/internal/host"
)

// Prefix starts the name of everything that this package makes.
const Prefix = "iocause-lab-"

// record is one thing to undo.
type record struct {
	Kind  string `json:"kind"` // one of the undoers, or "run" for the first
	Path  string `json:"path,omitempty"`
	Value string `json:"value,omitempty"` // file: what it held; loop: its backing file; process: its mark; run: boot id
	PID   int    `json:"pid,omitempty"`   // process: 0 before it is started
	Start uint64 `json:"start,omitempty"` // of the process, in ticks since boot
}

// journal is the file that outlives a crash. It lies in a place that a reboot
// empties, as a reboot undoes all but the scratch folder.
type journal struct {
	path    string
	file    *os.File
	records []record
}

// newJournal starts one. name is unique to the environment.
func newJournal(h *host.Host, stateDir, name string) (*journal, error) {
	if err := os.MkdirAll(stateDir, 0o755); err != nil {
		return nil, fmt.Errorf("make the folder for lab journals: %w", err)
	}
	path := filepath.Join(stateDir, name+".journal")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("start a lab journal: %w", err)
	}
	j := &journal{path: path, file: f}
	start, err := startTime(h, os.Getpid())
	if err == nil {
		err = j.write(&record{Kind: "run", PID: os.Getpid(), Start: start, Value: bootID(h)})
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start a lab journal: %w", err), f.Close(), os.Remove(path))
	}
	return j, nil
}

func (j *journal) write(r *record) error {
	line, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("write to the lab journal: %w", err)
	}
	if _, err := j.file.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("write to the lab journal: %w", err)
	}
	return nil
}

// add notes what is about to be done.
func (j *journal) add(r record) error {
	if err := j.write(&r); err != nil {
		return err
	}
	j.records = append(j.records, r)
	return nil
}

// close undoes all, newest first, and forgets the journal if all went well.
func (j *journal) close(h *host.Host) error {
	err := undoAll(h, j.records)
	if closeErr := j.file.Close(); closeErr != nil {
		err = errors.Join(err, fmt.Errorf("close the lab journal: %w", closeErr))
	}
	if err != nil {
		return err
	}
	if err := os.Remove(j.path); err != nil {
		return fmt.Errorf("remove the lab journal: %w", err)
	}
	return nil
}

func undoAll(h *host.Host, records []record) error {
	var errs []error
	for i := len(records) - 1; i >= 0; i-- {
		if err := undo(h, &records[i]); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Sweep removes what runs that no longer exist have left behind, and returns
// the names of these runs. Runs that are alive are left alone.
func Sweep(h *host.Host) ([]string, error) { return sweep(h, stateDir(h)) }

func stateDir(h *host.Host) string { return filepath.Join("/", h.Root, "run", "iocause-lab") }

func sweep(h *host.Host, dir string) ([]string, error) {
	paths, err := filepath.Glob(filepath.Join(dir, Prefix+"*.journal"))
	if err != nil {
		return nil, fmt.Errorf("find lab journals: %w", err)
	}
	var swept []string
	var errs []error
	for _, path := range paths {
		run, records, err := readJournal(path)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if run.Value == bootID(h) && alive(h, run.PID, run.Start) || run.PID == 0 && beginning(h, path) {
			continue
		}
		if run.Value != bootID(h) {
			records = onlyFolders(records)
		}
		if err := undoAll(h, records); err != nil {
			errs = append(errs, fmt.Errorf("sweep %s: %w", filepath.Base(path), err))
			continue
		}
		if err := os.Remove(path); err != nil {
			errs = append(errs, fmt.Errorf("remove a swept journal: %w", err))
		}
		swept = append(swept, strings.TrimSuffix(filepath.Base(path), ".journal"))
	}
	return swept, errors.Join(errs...)
}

// beginning tells whether a journal without a first line is that of a process
// which is about to write it.
func beginning(h *host.Host, path string) bool {
	pid, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(path), Prefix), "-")
	_, err := os.Stat(h.Proc(pid))
	return err == nil
}

// readJournal stops at a line that was cut short: what it announced was not done.
func readJournal(path string) (run record, records []record, err error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return run, nil, fmt.Errorf("read a lab journal: %w", err)
	}
	for line := range bytes.Lines(b) {
		var r record
		if json.Unmarshal(line, &r) != nil {
			break
		}
		if r.Kind == "run" {
			run = r
			continue
		}
		records = append(records, r)
	}
	return run, records, nil
}

func onlyFolders(records []record) []record {
	var kept []record
	for _, r := range records {
		if r.Kind == "dir" {
			kept = append(kept, r)
		}
	}
	return kept
}

func bootID(h *host.Host) string {
	b, _ := os.ReadFile(h.Proc("sys/kernel/random/boot_id")) // "" where there is none: then all boots are one
	return string(bytes.TrimSpace(b))
}

// startTime is field 22 of /proc/PID/stat (proc(5)), which tells a process
// from another that has its number later.
func startTime(h *host.Host, pid int) (uint64, error) {
	fields, err := h.StatFields(pid)
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(fields[host.StatStart], 10, 64)
}

func alive(h *host.Host, pid int, start uint64) bool {
	fields, err := h.StatFields(pid)
	return err == nil && fields[host.StatStart] == strconv.FormatUint(start, 10) && fields[host.StatState] != "Z"
}
