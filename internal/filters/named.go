package filters

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"iocause/internal/cri"
)

// runtimeVariable names the socket of the container runtime, as it does for crictl.
const runtimeVariable = "CONTAINER_RUNTIME_ENDPOINT"

// runtimes are where container runtimes listen, in the order in which they are tried.
func runtimes() []string {
	return []string{"/run/containerd/containerd.sock", "/run/k3s/containerd/containerd.sock", "/run/crio/crio.sock", "/run/cri-dockerd.sock"}
}

// idsOf asks the container runtime for the IDs of what is called so: of a pod,
// name or namespace/name, its UIDs; of a container its IDs.
func (i *Identity) idsOf(name string) ([]string, error) {
	if i.Name != "pod" && i.Name != "container" {
		return nil, nil
	}
	socket := strings.TrimPrefix(os.Getenv(runtimeVariable), "unix://")
	for _, s := range runtimes() {
		if _, err := os.Stat(s); socket == "" && err == nil {
			socket = s
		}
	}
	if socket == "" {
		return nil, nil
	}
	names, err := cri.List(context.Background(), socket)
	if err != nil {
		return nil, fmt.Errorf("asking the container runtime at %s: %w", socket, err)
	}
	var ids []string
	if i.Name == "container" {
		for id, called := range names.Containers {
			if called == name {
				ids = append(ids, id)
			}
		}
	} else {
		for uid, pod := range names.Pods {
			if pod.Name == name || pod.Namespace+"/"+pod.Name == name {
				ids = append(ids, uid)
			}
		}
	}
	slices.Sort(ids)
	return ids, nil
}
