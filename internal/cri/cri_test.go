package cri

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/cri/critest"
)

// The names of pods and containers are read over the protocol, from calls of its
// names; fields that are not known are passed over. A pod that has been made anew
// under its name has another UID.
func TestNamesAreListed(t *testing.T) {
	const uid, other = "1b2c3d4e-5f60-7182-93a4-b5c6d7e8f901", "aaaaaaaa-5f60-7182-93a4-b5c6d7e8f901"
	socket := critest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		pod := func(uid, name string) []byte {
			return append(critest.Message(1, "sandbox", 2, critest.Message(1, name, 2, uid, 3, "shop"), 7, "io.runc"), protowire.AppendVarint(protowire.AppendTag(nil, 4, protowire.VarintType), 7)...)
		}
		switch r.URL.Path {
		case "/runtime.v1.RuntimeService/ListPodSandbox":
			critest.Answer(w, critest.Message(1, pod(uid, "db-0"), 1, pod(other, "db-0")), "0")
		case "/runtime.v1.RuntimeService/ListContainers":
			critest.Answer(w, critest.Message(1, critest.Message(1, "c0ffee", 2, "sandbox", 3, critest.Message(1, "postgres"))), "0")
		default:
			t.Error(r.URL.Path)
		}
		if r.ProtoMajor != 2 || r.Header.Get("Content-Type") != "application/grpc+proto" || r.Header.Get("Te") != "trailers" {
			t.Error(r.Proto, r.Header)
		}
	})
	n, err := List(t.Context(), socket)
	if err != nil || len(n.Pods) != 2 || n.Pods[uid] != (Pod{"db-0", "shop"}) || n.Pods[other] != n.Pods[uid] || n.Containers["c0ffee"] != "postgres" {
		t.Errorf("%+v %v", n, err)
	}
}

// Whatever answers, it is said what is wrong, and soon.
func TestBadRuntimes(t *testing.T) {
	for name, c := range map[string]struct {
		h    http.HandlerFunc
		want string
	}{
		"refuses":      {func(w http.ResponseWriter, _ *http.Request) { critest.Answer(w, nil, "12") }, `status "12"`},
		"another page": {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }, "this is no container runtime"},
		"half":         {func(w http.ResponseWriter, _ *http.Request) { critest.Answer(w, []byte{0x0a, 0x7f, 1}, "0") }, "cannot be read"},
		"breaks off":   {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "stream error"},
		"hangs":        {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "deadline"},
		"without end": {func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 1<<20)); err != nil {
					return
				}
			}
		}, "longer than 16 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := List(t.Context(), critest.Serve(t, c.h)); err == nil || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 600 {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
	if _, err := List(t.Context(), "/no/such"); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Error(err)
	}
}

// A real containerd answers; it has no pods here.
func TestContainerd(t *testing.T) {
	program := os.Getenv("IOCAUSE_CONTAINERD")
	if program == "" {
		var err error
		program, err = exec.LookPath("containerd")
		bpftest.Need(t, "containerd", err)
	}
	dir := t.TempDir()
	socket, config := filepath.Join(dir, "s"), filepath.Join(dir, "config.toml")
	err := os.WriteFile(config, []byte("version = 2\nroot = \""+dir+"/root\"\nstate = \""+dir+"/state\"\n[grpc]\naddress = \""+socket+"\"\n"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), program, "--config", config)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = c.Process.Kill()
		_ = c.Wait() // it was killed
	}()
	for began := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		n, err := List(t.Context(), socket)
		if err == nil {
			if len(n.Pods) != 0 || len(n.Containers) != 0 {
				t.Errorf("%+v", n)
			}
			return
		}
		if time.Since(began) > 30*time.Second {
			t.Fatal(err)
		}
	}
}
