package cli

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/cri/critest"
	"iocause/internal/filters"
	"iocause/internal/host"
	"iocause/internal/require"
	"iocause/internal/source"
)

// Every command that takes --cgroup takes these, but for those of the lab, which
// make cgroups.
func TestIdentitiesAreWhereCgroupIs(t *testing.T) {
	n := 0
	var visit func(*cobra.Command)
	visit = func(c *cobra.Command) {
		f := c.Flags().Lookup("cgroup")
		want := f != nil && f.Value.Type() == "string" && !strings.HasPrefix(c.CommandPath(), "iocause lab")
		for _, x := range filters.Identities() {
			if has := c.Flags().Lookup(x.Name) != nil; has != want {
				t.Errorf("%s: --%s %v, want %v", c.CommandPath(), x.Name, has, want)
			}
		}
		if want {
			n++
		}
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(newRootCommand(&env{}))
	if n < 10 {
		t.Errorf("only %d commands have them", n)
	}
}

// nameIn starts a container runtime that calls a pod shop/db-0 and its container
// postgres, and says where it listens.
func nameIn(t *testing.T, uid, id string) {
	t.Helper()
	socket := critest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		b := critest.Message(1, critest.Message(1, id, 3, critest.Message(1, "postgres")))
		if strings.HasSuffix(r.URL.Path, "ListPodSandbox") {
			b = critest.Message(1, critest.Message(1, "sandbox", 2, critest.Message(1, "db-0", 2, uid, 3, "shop")))
		}
		critest.Answer(w, b, "0")
	})
	t.Setenv("CONTAINER_RUNTIME_ENDPOINT", "unix://"+socket)
}

// A real cgroup of a container's name is found, and what is done in it is shown
// by --container, --pod and --unit as by --cgroup.
func TestContainerIsFound(t *testing.T) {
	cgroups, err := host.Live().Cgroups()
	require.NoError(t, err)
	tree, ok := cgroups.Controller("memory")
	bpftest.Need(t, "cgroup", map[bool]error{false: host.ErrNoController}[ok])
	id := strings.Repeat("c0ffee", 10) + "0123"
	const uid = "c0ffee4e-5f60-7182-93a4-b5c6d7e8f901"
	top := filepath.Join(tree.Dir, "iocause-identity.service")
	dir := filepath.Join(top, "pod"+uid, id)
	bpftest.Need(t, "cgroup", os.MkdirAll(dir, 0o755))
	c := exec.Command("sh", "-c", "while :; do read x </etc/passwd; done")
	require.NoError(t, c.Start())
	defer func() {
		_ = c.Process.Kill()
		_ = c.Wait()
		for _, d := range []string{dir, filepath.Dir(dir), top} {
			if err := os.Remove(d); err != nil {
				t.Error(err)
			}
		}
	}()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(c.Process.Pid)), 0o600))
	for _, args := range [][]string{{"--container", "c0ffeec0ffee"}, {"--pod", uid}, {"--unit", "iocause-identity"}} {
		code, out, stderr := runApp(t.Context(), source.List(), append([]string{"threads", "0.2", "1", "--format", "json"}, args...)...)
		if code != 0 || !strings.Contains(out, strconv.Itoa(c.Process.Pid)) {
			t.Errorf("%v: code %d, %.500s %s", args, code, out, stderr)
		}
	}
	nameIn(t, uid, id)
	for _, args := range [][]string{{"--container", "postgres"}, {"--pod", "db-0"}, {"--pod", "shop/db-0"}} {
		code, out, stderr := runApp(t.Context(), source.List(), append([]string{"threads", "0.2", "1", "--format", "json"}, args...)...)
		if code != 0 || !strings.Contains(out, strconv.Itoa(c.Process.Pid)) {
			t.Errorf("%v: code %d, %.500s %s", args, code, out, stderr)
		}
	}
	if code, _, stderr := runApp(t.Context(), source.List(), "threads", "0.2", "1", "--pod", "other/db-0"); code == 0 || !strings.Contains(stderr, "no container runtime knows it by name") {
		t.Errorf("code %d, %s", code, stderr)
	}
	recording := filepath.Join(t.TempDir(), "x.iocause")
	if code, _, stderr := runApp(t.Context(), source.List(), "record", "-o", recording, "--duration", "300ms"); code != 0 {
		t.Fatal(stderr)
	}
	by := func(flags ...string) string {
		_, out, stderr := runApp(t.Context(), nil, append([]string{"cache", "--by", "cgroup", "--recording", recording, "--format", "json"}, flags...)...)
		return out + stderr
	}
	same := by("--cgroup", "/iocause-identity.service")
	for _, args := range [][]string{{"--pod", "c0ffee4e"}, {"--unit", "iocause-identity"}, {"--container", "c0ffeec0ffee"}} {
		if said := by(args...); !strings.Contains(said, "iocause-identity.service") || args[0] == "--unit" && said != same {
			t.Errorf("%v of a recording: %.600s, want %.600s", args, said, same)
		}
	}
	if said := by("--pod", "dddd"); !strings.Contains(said, "no cgroup in the recording has it") {
		t.Errorf("%.600s", said)
	}
	for want, args := range map[string][]string{
		"no container runtime knows it by name; 'docker ps'": {"--container", "dddd"},
		"a cgroup is given already":                          {"--container", "c0ffee", "--cgroup", "/"},
		"it is empty":                                        {"--pod", ""},
		"no such file":                                       {"--unit", "x", "--recording", "x"},
	} {
		if code, _, stderr := runApp(t.Context(), source.List(), append([]string{"threads", "0.2", "1"}, args...)...); code == 0 || !strings.Contains(stderr, want) {
			t.Errorf("%v: code %d, %s, want %q", args, code, stderr, want)
		}
	}
}
