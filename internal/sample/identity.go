package sample

import (
	"regexp"
	"strings"
)

// Identity is who a cgroup belongs to, as far as its path tells: no server is
// asked. "" is not known, or does not apply.
type Identity struct {
	Container string `json:"container,omitempty"` // its ID, 64 hexadecimal digits
	Pod       string `json:"pod,omitempty"`       // UID of the Kubernetes pod, with hyphens
	Unit      string `json:"unit,omitempty"`      // of systemd: the innermost service or scope
}

var (
	// runc, crun and their kin name cgroups by the ID alone, systemd's driver puts
	// the runtime's name before it: docker-ID.scope, cri-containerd-ID.scope,
	// crio-ID.scope, libpod-ID.scope. crio-conmon-ID is the container's keeper.
	containerForm = regexp.MustCompile(`^(?:[a-z]+(?:-[a-z]+)*[-:])?([0-9a-f]{64})(?:\.scope)?$`)
	// kubelet writes pod1b2c..., with systemd's driver kubepods-burstable-pod1b2c_....slice,
	// where the UID's hyphens are underscores. Static pods have a UID of 32 digits.
	podForm  = regexp.MustCompile(`^(?:kubepods(?:-[a-z]+)?-)?pod([0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12}|[0-9a-f]{32})(?:\.slice)?$`)
	unitForm = regexp.MustCompile(`^[^/]+\.(?:service|scope|mount|socket|swap)$`)
)

// IdentityOf reads a cgroup's path (/proc/PID/cgroup). Of containers in
// containers it is the innermost one.
func IdentityOf(cgroup string) (id Identity) {
	for part := range strings.SplitSeq(cgroup, "/") {
		if m := podForm.FindStringSubmatch(part); m != nil {
			id.Pod, id.Container = strings.ReplaceAll(m[1], "_", "-"), ""
		}
		if m := containerForm.FindStringSubmatch(part); m != nil {
			id.Container = m[1]
		}
		if unitForm.MatchString(part) {
			id.Unit = part
		}
	}
	return id
}

// Is tells whether an identity is the one that is asked for: a container or pod
// by the beginning of its ID, a unit by its name, without ".service" if one
// likes.
func (id Identity) Is(kind, name string) bool {
	switch kind {
	case "container":
		return id.Container != "" && name != "" && strings.HasPrefix(id.Container, strings.ToLower(name))
	case "pod":
		short := strings.ReplaceAll(strings.ToLower(name), "-", "")
		return id.Pod != "" && short != "" && strings.HasPrefix(strings.ReplaceAll(id.Pod, "-", ""), short)
	case "unit":
		return id.Unit != "" && (id.Unit == name || id.Unit == name+".service")
	}
	return false
}
