package diagnose

import (
	"encoding/json"
	"testing"

	"iocause/internal/sample"
)

// A window without a length is no reason for infinite figures, which JSON cannot hold.
func TestWindowWithoutLength(t *testing.T) {
	r := sample.NewRecorder(epoch)
	r.PutProcess(7, sample.Process{Comm: "p"})
	r.Put(sample.WaitIO, sample.Entity{PID: 7, Class: "read"}, 5, "test")
	report := Judge(r.Window(epoch), Target{})
	if report.Primary != Unknown || len(report.CannotTell) != len(List()) {
		t.Errorf("%s, %d causes cannot be told", report.Primary, len(report.CannotTell))
	}
	if _, err := json.Marshal(report); err != nil {
		t.Error(err)
	}
}
