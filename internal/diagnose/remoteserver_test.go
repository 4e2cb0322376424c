package diagnose

import (
	"testing"

	"iocause/internal/sample"
)

// Of two servers the one is named whose answers the program waits for: by the files of its
// calls, whatever others ask of the other; or by the file whose page does not come.
func TestWhichServerIsSlow(t *testing.T) {
	for name, wait := range map[string]func(m machine){
		"an answer": func(m machine) {
			m.waits(10, sample.ClassNetwork, 9)
			m.put(sample.MountWait, sample.Entity{PID: 10, Device: "0:54"}, 8)
		},
		"a page": func(m machine) {
			m.waits(10, sample.ClassPage, 9)
			m.put(sample.CacheWait, sample.Entity{PID: 10, File: sample.FileID{Dev: 54, Ino: 1}}, 9)
			m.PutFile(sample.FileID{Dev: 54, Ino: 1}, sample.File{Path: "/pool/data", Device: "0:54"})
		},
	} {
		m := newMachine()
		m.process(10, "dd", "read", thread{wait: 9})
		wait(m)
		m.put(sample.MountKind, sample.Entity{}, 0)
		for device, is := range map[string][3]string{"0:45": {"/home", "nfs4", "nas:/vol"}, "0:54": {"/pool", "ceph", "mon:/"}} {
			m.put(sample.MountPoint, sample.Entity{Device: device, Class: is[0]}, 1)
			m.put(sample.MountKind, sample.Entity{Device: device, Class: is[1]}, 1)
			m.put(sample.MountFrom, sample.Entity{Device: device, Class: is[2]}, 1)
		}
		nfs := sample.Entity{Device: "0:45", Class: "READ"}
		m.put(sample.NFSRequests, nfs, 1000)
		m.put(sample.NFSTransmissions, nfs, 1000)
		m.put(sample.NFSTime, nfs, 2)
		m.put(sample.NFSServerTime, nfs, 1.9)
		for _, metric := range []sample.Metric{sample.ServedRequests, sample.ServedTime} {
			m.put(metric, sample.Entity{Device: "0:54", Class: "read"}, 0)
		}
		r := m.judge()
		if r.Primary != RemoteServerSlow || r.Findings[0].Culprit.File != "/pool" || r.Findings[0].Confidence != 0.80 {
			t.Errorf("%s: %s, %+v", name, r.Primary, r.Findings)
			continue
		}
		checkReport(t, r)
	}
}
