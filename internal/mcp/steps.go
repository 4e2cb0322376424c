package mcp

import (
	"encoding/json"
	"slices"
	"strconv"

	"iocause/internal/diagnose"
	"iocause/internal/present/text"
)

// step is what to do after a finding: a call that looks closer, or what a person
// may change.
type step struct {
	Why       string         `json:"why"`
	Tool      string         `json:"tool,omitempty"` // of this server
	Arguments map[string]any `json:"arguments,omitempty"`
	Person    string         `json:"person,omitempty"`  // what a person would do: it changes the machine
	Command   string         `json:"command,omitempty"` // how
	Expect    string         `json:"expect,omitempty"`  // what it would give
}

// nextSteps follow from the report that diagnose gave.
func nextSteps(doc []byte, q diagnoseQuestion) []step {
	var r diagnose.Report
	if json.Unmarshal(doc, &r) != nil {
		return nil
	}
	from := map[string]any{}
	for name, v := range map[string]string{"recording": q.Recording, "from": q.From, "to": q.To} {
		if v != "" {
			from[name] = v
		}
	}
	call := func(tool, why string, pairs ...string) step {
		s := step{Why: why, Tool: tool, Arguments: map[string]any{}}
		for name, v := range from {
			s.Arguments[name] = v
		}
		for i := 0; i < len(pairs); i += 2 {
			if name := pairs[i+1]; name != "" && text.Escape(name) == name { // else it could not be given back
				s.Arguments[pairs[i]] = name
			}
		}
		return s
	}
	switch r.Primary {
	case diagnose.Healthy:
		return []step{call("use", "no program waits in this time: see which resources are busy"),
			{Why: "it may have been slow at another time", Tool: "incidents", Arguments: map[string]any{}}}
	case diagnose.Unknown:
		all := []step{call("use", "no cause could be shown: see which resources are busy")}
		for _, m := range r.CannotTell[:min(3, len(r.CannotTell))] {
			all = append(all, step{Why: "whether it is " + string(m.Cause) + " undecided", Person: text.Escape(m.Missing)})
		}
		return all
	}
	if len(r.Findings) == 0 {
		return nil
	}
	f := r.Findings[0]
	var all []step
	for _, a := range f.Advice {
		all = append(all, step{Why: "advice for " + string(f.Cause), Person: text.Escape(a.Do), Command: text.Escape(a.Command), Expect: text.Escape(a.Expect)})
	}
	if f.Culprit.Device != "" {
		all = append(all, call("disk", "who uses the device, and how long its I/O takes", "device", f.Culprit.Device, "by", "process"))
	}
	if f.Culprit.File != "" {
		all = append(all, call("files", "what is done to the file", "file", f.Culprit.File))
	}
	if ofMemory(f.Cause) && !q.asked() {
		all = append(all, call("predict", "what more memory would do for reads"))
	}
	if who := r.Victim; who.Comm != "" && q.Recording == "" {
		s := call("threads", "what the threads of the waiting program do")
		s.Arguments["by"] = "comm"
		if who.PID != 0 && (who.Processes < 2 || text.Escape(who.Comm) != who.Comm) {
			s.Arguments["pid"] = who.PID
		} else {
			s.Arguments["comm"] = text.Escape(who.Comm)
		}
		all = append(all, s)
	}
	if f.Disprove != "" {
		all = append(all, step{Why: "what would show that it is something else: " + text.Escape(f.Disprove) + " (confidence " + strconv.FormatFloat(f.Confidence, 'f', 2, 64) + ")"})
	}
	return all
}

// ofMemory tells of causes that more memory may remedy.
func ofMemory(c diagnose.ID) bool {
	return slices.Contains([]diagnose.ID{diagnose.CacheSqueezed, diagnose.CachePollution, diagnose.CgroupCacheLimit, diagnose.CacheBusting, diagnose.ColdCache}, c)
}
