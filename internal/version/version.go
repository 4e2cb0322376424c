// Package version tells what this binary was built from.
package version

import "runtime/debug"

// Version is what a binary was built from, as far as it knows.
type Version struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Modified bool   `json:"modified,omitempty"` // the tree was not the revision's
	Time     string `json:"time,omitempty"`     // of the revision
	Go       string `json:"go"`
}

func (v Version) String() string {
	s := v.Version
	if v.Revision != "" {
		s += " revision " + v.Revision
		if v.Modified {
			s += " (modified)"
		}
	}
	return s + " " + v.Go
}

// Program is what files say of who wrote them.
func Program() string { return "iocause " + Build().String() }

// Build reads what the go command recorded in the binary.
func Build() Version {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return Version{Version: "unknown", Go: "unknown"}
	}
	v := Version{Version: info.Main.Version, Go: info.GoVersion}
	if v.Version == "" {
		v.Version = "(devel)"
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		case "vcs.time":
			v.Time = s.Value
		}
	}
	return v
}
