package filters

import (
	"context"
	"fmt"
	"os"
	"strings"

	"iocause/internal/cri"
)

// runtimeVariable names the socket of the container runtime, as it does for crictl.
const runtimeVariable = "CONTAINER_RUNTIME_ENDPOINT"

// runtimes are where container runtimes listen, in the order in which they are tried.
func runtimes() []string {
	return []string{"/run/containerd/containerd.sock", "/run/k3s/containerd/containerd.sock", "/run/crio/crio.sock", "/run/cri-dockerd.sock"}
}

// runtimeSocket is where the container runtime is asked, "" where there is none.
func runtimeSocket() string {
	if named := os.Getenv(runtimeVariable); named != "" {
		return strings.TrimPrefix(named, "unix://")
	}
	for _, socket := range runtimes() {
		if _, err := os.Stat(socket); err == nil {
			return socket
		}
	}
	return ""
}

// idsOf asks the container runtime for the IDs of what is called so: of a pod,
// name or namespace/name, its UIDs; of a container its IDs.
func (i *Identity) idsOf(name string) ([]string, error) {
	socket := runtimeSocket()
	if i.Name == "unit" || socket == "" {
		return nil, nil
	}
	names, err := cri.List(context.Background(), socket)
	if err != nil {
		return nil, fmt.Errorf("asking the container runtime at %s: %w", socket, err)
	}
	var ids []string
	switch i.Name {
	case "container":
		for id, called := range names.Containers {
			if called == name {
				ids = append(ids, id)
			}
		}
	case "pod":
		for uid, pod := range names.Pods {
			if pod.Name == name || pod.Namespace+"/"+pod.Name == name {
				ids = append(ids, uid)
			}
		}
	}
	return ids, nil
}
