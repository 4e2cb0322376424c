// Package check renders the chart with Helm's own code and holds it against the
// types of Kubernetes: an unknown field, a wrong type or a bad value fails.
package check

import (
	"errors"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

const chart = "../iocause"

var image = map[string]any{"repository": "registry.example/iocause", "tag": "1.0.0"}

// decode fails for a field that the type does not have, names' case included.
func decode(t *testing.T, file string, to any) {
	t.Helper()
	b, err := yaml.YAMLToJSONStrict([]byte(file))
	if err != nil {
		t.Fatalf("%v in\n%s", err, file)
	}
	wrong, err := json.UnmarshalStrict(b, to)
	if err = errors.Join(append(wrong, err)...); err != nil {
		t.Fatalf("%v in\n%s", err, file)
	}
}

// rendered are the files of the chart as a cluster of a version gets them.
func rendered(t *testing.T, kubernetes string, values map[string]any) (map[string]string, error) {
	t.Helper()
	c, err := loader.Load(chart)
	if err != nil {
		t.Fatal(err)
	}
	version, err := chartutil.ParseKubeVersion(kubernetes)
	if err != nil {
		t.Fatal(err)
	}
	all, err := chartutil.ToRenderValues(c, values, chartutil.ReleaseOptions{Name: "io", Namespace: "monitoring"},
		&chartutil.Capabilities{KubeVersion: *version})
	if err != nil {
		t.Fatal(err)
	}
	return engine.Render(c, all)
}

func daemonSet(t *testing.T, kubernetes string, values map[string]any) *apps.DaemonSet {
	t.Helper()
	files, err := rendered(t, kubernetes, values)
	if err != nil {
		t.Fatal(err)
	}
	var ds apps.DaemonSet
	decode(t, files["iocause/templates/daemonset.yaml"], &ds)
	return &ds
}

func TestLint(t *testing.T) {
	result := lint.AllWithKubeVersion(chart, map[string]any{"image": image}, "monitoring", nil)
	for _, m := range result.Messages {
		if m.Severity > support.InfoSev {
			t.Error(m)
		}
	}
}

// The agent has the capabilities that it names, and no others; nothing is writable
// but its state and temporary files.
func TestLeastPrivileges(t *testing.T) {
	ds := daemonSet(t, "1.32.0", map[string]any{"image": image})
	pod := ds.Spec.Template.Spec
	agent := pod.Containers[0]
	s := agent.SecurityContext
	if *s.Privileged || *s.AllowPrivilegeEscalation || !*s.ReadOnlyRootFilesystem || s.Capabilities.Drop[0] != "ALL" || len(s.Capabilities.Add) != 5 {
		t.Errorf("security context: %+v", s)
	}
	if s.AppArmorProfile == nil || s.AppArmorProfile.Type != core.AppArmorProfileTypeUnconfined {
		t.Errorf("AppArmor: %+v", s.AppArmorProfile)
	}
	if !pod.HostPID || pod.HostNetwork || pod.HostIPC || *pod.AutomountServiceAccountToken {
		t.Error("of the node's namespaces it needs that of processes alone, and no token")
	}
	for _, m := range agent.VolumeMounts {
		if m.ReadOnly == (m.MountPath == "/var/lib/iocause" || m.MountPath == "/tmp") {
			t.Errorf("%s: read-only is %v", m.MountPath, m.ReadOnly)
		}
	}
	if agent.Resources.Limits.Memory().IsZero() || pod.PriorityClassName == "" || agent.Ports[0].ContainerPort != 9464 {
		t.Errorf("%+v, priority %q, ports %v", agent.Resources, pod.PriorityClassName, agent.Ports)
	}
	old := daemonSet(t, "1.28.0", map[string]any{"image": image})
	if old.Spec.Template.Spec.Containers[0].SecurityContext.AppArmorProfile != nil ||
		old.Spec.Template.Annotations["container.apparmor.security.beta.kubernetes.io/agent"] != "unconfined" {
		t.Errorf("before 1.30 AppArmor is chosen by an annotation: %v", old.Spec.Template.Annotations)
	}
}

// Another configuration is another pod, and its directory is always the mounted one.
func TestConfiguration(t *testing.T) {
	values := map[string]any{"image": image, "config": map[string]any{"dir": "/elsewhere", "interval": "5s", "listen": "[::]:9999"}}
	files, err := rendered(t, "1.32.0", values)
	if err != nil {
		t.Fatal(err)
	}
	var m core.ConfigMap
	decode(t, files["iocause/templates/configmap.yaml"], &m)
	var config map[string]string
	if err := yaml.Unmarshal([]byte(m.Data["agent.yaml"]), &config); err != nil {
		t.Fatal(err)
	}
	if config["dir"] != "/var/lib/iocause" || config["interval"] != "5s" {
		t.Errorf("the agent's configuration is %v", config)
	}
	a, b := daemonSet(t, "1.32.0", values).Spec.Template, daemonSet(t, "1.32.0", map[string]any{"image": image}).Spec.Template
	if a.Annotations["checksum/config"] == b.Annotations["checksum/config"] {
		t.Error("two configurations have one checksum")
	}
	if port := a.Spec.Containers[0].Ports[0].ContainerPort; port != 9999 {
		t.Errorf("port %d", port)
	}
}

// Nobody publishes an image: a chart without one says what to give.
func TestNoImage(t *testing.T) {
	if _, err := rendered(t, "1.32.0", nil); err == nil || !strings.Contains(err.Error(), "image.repository: give") {
		t.Errorf("without an image: %v", err)
	}
}

func TestPodMonitor(t *testing.T) {
	for enabled, want := range map[bool]bool{true: true, false: false} {
		files, err := rendered(t, "1.32.0", map[string]any{"image": image, "podMonitor": map[string]any{"enabled": enabled}})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(files["iocause/templates/podmonitor.yaml"], "kind: PodMonitor"); got != want {
			t.Errorf("enabled %v: there is one: %v", enabled, got)
		}
	}
}
