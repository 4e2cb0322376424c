package filters

import (
	"fmt"
	"slices"
	"strings"

	"iocause/internal/ask"
	"iocause/internal/host"
	"iocause/internal/sample"
)

// Identity is another name for a cgroup: what its path tells of who it belongs to.
type Identity struct {
	Name  string // of the flag
	Help  string
	Where string // such names are shown
}

// Identities are all of them.
func Identities() []Identity {
	return []Identity{
		{"container", "by a container's ID, its beginning, or name", "'docker ps', 'podman ps' and 'crictl ps' show them"},
		{"pod", "by a Kubernetes pod's UID, its beginning, or name", "'kubectl get pod NAME -o jsonpath={.metadata.uid}' shows it"},
		{"unit", "by the name of a systemd unit", "'systemctl list-units' shows them"},
	}
}

// Cgroup is the path of the one cgroup that is called so. Where no path has it, the
// container runtime is asked whose name it is.
func (i *Identity) Cgroup(h *host.Host, name string) (string, error) {
	if name == "" {
		return "", &ask.Error{Err: fmt.Errorf("reading --%s: it is empty", i.Name), Next: i.Where}
	}
	found := h.FindCgroups(func(path string) bool { return sample.IdentityOf(path).Is(i.Name, name) })
	if len(found) == 0 {
		ids, err := i.idsOf(name)
		if err != nil {
			return "", fmt.Errorf("looking for %s %q: no cgroup has it in its path; %w", i.Name, name, err)
		}
		found = h.FindCgroups(func(path string) bool {
			return slices.ContainsFunc(ids, func(id string) bool { return sample.IdentityOf(path).Is(i.Name, id) })
		})
	}
	if len(found) == 0 {
		return "", fmt.Errorf("looking for %s %q: no cgroup has it in its path, and no container runtime knows it by name; %s", i.Name, name, i.Where)
	}
	return i.one(name, found)
}

// Recorded is the path of the one cgroup that is called so among those of a
// recording.
func (i *Identity) Recorded(paths []string, name string) (string, error) {
	if name == "" {
		return "", &ask.Error{Err: fmt.Errorf("reading --%s: it is empty", i.Name), Next: "'iocause disk --by cgroup' of that recording shows them"}
	}
	var found []string
	for _, path := range paths {
		for end := 1; end <= len(path); end++ { // the outermost one: those below are its parts
			if end < len(path) && path[end] != '/' || !sample.IdentityOf(path[:end]).Is(i.Name, name) {
				continue
			}
			found = append(found, path[:end])
			break
		}
	}
	slices.Sort(found)
	if found = slices.Compact(found); len(found) == 0 {
		return "", fmt.Errorf("looking for %s %q: no cgroup in the recording has it in its path; 'iocause disk --by cgroup' of that recording shows them", i.Name, name)
	}
	return i.one(name, found)
}

// one is the only one of those that were found.
func (i *Identity) one(name string, found []string) (string, error) {
	if len(found) == 1 {
		return found[0], nil
	}
	return "", &ask.Error{Err: fmt.Errorf("looking for %s %q: it is in %d cgroups: %s", i.Name, name, len(found), strings.Join(found[:min(len(found), 4)], ", ")),
		Next: "give more of its ID, or one of these with --cgroup"}
}
