package sample

import (
	"strings"
	"testing"
)

// Paths as kubelet with both drivers, CRI-O, containerd, Docker, Podman, kind and
// systemd make them.
func TestIdentityOf(t *testing.T) {
	id := strings.Repeat("0123456789abcdef", 4)
	other := strings.Repeat("f", 64)
	const uid, static = "1b2c3d4e-5f60-7182-93a4-b5c6d7e8f901", "0123456789abcdef0123456789abcdef"
	under := strings.ReplaceAll(uid, "-", "_")
	for path, want := range map[string]Identity{
		"/": {},
		"/kubepods/burstable/pod" + uid + "/" + id:     {Container: id, Pod: uid},
		"/kubepods/pod" + uid:                          {Pod: uid},
		"/kubepods/besteffort/pod" + static + "/" + id: {Container: id, Pod: static},
		"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + under + ".slice/cri-containerd-" + id + ".scope": {id, uid, "cri-containerd-" + id + ".scope"},
		"/kubepods.slice/kubepods-pod" + under + ".slice/crio-" + id + ".scope":                                              {id, uid, "crio-" + id + ".scope"},
		"/kubepods.slice/kubepods-pod" + under + ".slice/crio-conmon-" + id + ".scope":                                       {id, uid, "crio-conmon-" + id + ".scope"},
		"/docker/" + id:                                    {Container: id},
		"/system.slice/docker-" + id + ".scope":            {Container: id, Unit: "docker-" + id + ".scope"},
		"/machine.slice/libpod-" + id + ".scope/container": {Container: id, Unit: "libpod-" + id + ".scope"},
		"/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" + id + ".scope": {Container: id, Unit: "libpod-" + id + ".scope"},
		"/docker/" + other + "/kubelet/kubepods/pod" + uid:                                 {Pod: uid},
		"/docker/" + other + "/kubelet/kubepods/pod" + uid + "/" + id:                      {Container: id, Pod: uid},
		"/ecs/9781c248-0edd-4cdb-9a93-f63cb662a5d3/" + id:                                  {Container: id},
		"/system.slice/postgresql@15-main.service":                                         {Unit: "postgresql@15-main.service"},
		"/user.slice/user-1000.slice/user@1000.service/app.slice/firefox.service":          {Unit: "firefox.service"},
		"/system.slice":              {},
		"/pod" + uid[:8]:             {},
		"/docker/" + id[:63]:         {},
		"/x/" + id + "0":             {},
		"/evil\n.service/\x1b[31m":   {Unit: "evil\n.service"},
		"/kubepods/pod" + under:      {Pod: uid},
		"/system.slice:docker:" + id: {},
		"/system.slice/cri:" + id:    {Container: id},
	} {
		if got := IdentityOf(path); got != want {
			t.Errorf("%q: %+v, want %+v", path, got, want)
		}
	}
}

// A container and a pod are meant by the beginning of their IDs, a unit by its
// name.
func TestIdentityIs(t *testing.T) {
	id := Identity{Container: "ab" + strings.Repeat("1", 62), Pod: "1b2c3d4e-5f60-7182-93a4-b5c6d7e8f901", Unit: "cron.service"}
	for _, c := range []struct {
		kind, name string
		want       bool
	}{
		{"container", "AB1", true}, {"container", "b1", false}, {"pod", "1b2c3d4e5f", true}, {"pod", "1b2c3d4e-5f", true}, {"pod", "5f60", false},
		{"unit", "cron", true}, {"unit", "cron.service", true}, {"unit", "cro", false}, {"container", "", false}, {"pod", "-", false}, {"no such", "cron", false},
	} {
		if got := id.Is(c.kind, c.name); got != c.want {
			t.Errorf("%s %q: %v", c.kind, c.name, got)
		}
	}
	if (Identity{}).Is("container", "a") {
		t.Error("nothing is a container")
	}
}
