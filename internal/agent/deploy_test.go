package agent

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/store/series"
)

const deploy = "../../deploy"

func deployed(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(deploy, name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// checkExpr tells whether an expression can be parsed and names only series
// that the agent records.
func checkExpr(t *testing.T, where, expr string) {
	t.Helper()
	if err := series.CheckExpr(strings.ReplaceAll(expr, "$__rate_interval", "1m")); err != nil {
		t.Errorf("%s: %s: %v", where, expr, err)
	}
	names := regexp.MustCompile(`iocause_\w+`).FindAllString(expr, -1)
	if len(names) == 0 {
		t.Errorf("%s: %s is about nothing", where, expr)
	}
	known := describe()
	for _, n := range names {
		if _, ok := known[n]; !ok {
			t.Errorf("%s: there is no %s", where, n)
		}
	}
}

func TestDeployedConfigurationIsTheDefault(t *testing.T) {
	c, err := parseConfig("agent.yaml", deployed(t, "agent.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Off) == 0 {
		c.Off = nil
	}
	if !reflect.DeepEqual(c, DefaultConfig()) {
		t.Errorf("%+v, want %+v", c, DefaultConfig())
	}
}

func TestDeployedAlerts(t *testing.T) {
	var file struct {
		Groups []struct {
			Rules []struct{ Alert, Expr string }
		}
	}
	if err := yaml.Unmarshal(deployed(t, "alerts.yaml"), &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Groups) != 1 || len(file.Groups[0].Rules) < 5 {
		t.Fatalf("%+v", file)
	}
	promtool(t, "", "check", "rules", filepath.Join(deploy, "alerts.yaml"))
	fires := deployed(t, "alerts_test.yaml")
	for _, r := range file.Groups[0].Rules {
		checkExpr(t, r.Alert, r.Expr)
		if !strings.Contains(string(fires), "alertname: "+r.Alert+"\n") {
			t.Errorf("nothing shows that %s fires", r.Alert)
		}
	}
	promtool(t, "", "test", "rules", filepath.Join(deploy, "alerts_test.yaml"))
}

// The unit has no setting that systemd does not know.
func TestDeployedUnit(t *testing.T) {
	tool, err := exec.LookPath("systemd-analyze")
	bpftest.Need(t, "systemd-analyze", err)
	const name = "iocause-agent.service"
	unit := filepath.Join(t.TempDir(), name)
	there := strings.ReplaceAll(string(deployed(t, name)), "/usr/bin/iocause", "/bin/true") // it need not be installed
	if err := os.WriteFile(unit, []byte(there), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(tool, "verify", unit).CombinedOutput()
	for line := range strings.Lines(string(out)) { // of other units of this machine more may be said
		if strings.Contains(line, name) {
			t.Errorf("%v: %s", err, line)
		}
	}
}

func TestDeployedDashboard(t *testing.T) {
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(deployed(t, "grafana.json"), &board); err != nil {
		t.Fatal(err)
	}
	if len(board.Panels) < 10 {
		t.Errorf("%d panels", len(board.Panels))
	}
	for _, p := range board.Panels {
		for _, x := range p.Targets {
			checkExpr(t, p.Title, x.Expr)
		}
	}
}
