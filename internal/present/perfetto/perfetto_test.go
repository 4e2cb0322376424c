package perfetto

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"iocause/internal/require"
	"iocause/internal/sample"
)

// Every I/O is there once, none overlaps another one of its lane, and what is
// within one adds up to it. 211 I/Os, up to seven at a time.
func TestWriter(t *testing.T) {
	var b bytes.Buffer
	w, err := New(&b, "test", time.Unix(1700000000, 0))
	require.NoError(t, err)
	const hostile = "</script>\x1b[31m\n\"\xff"
	for i := range 211 {
		x := &sample.IO{Start: time.Duration(i*100-(i%7)*90) * time.Microsecond, Device: 70 * time.Microsecond, Queue: time.Duration(i%7) * 90 * time.Microsecond, Disk: "vda", PID: 1 + i%2, Comm: hostile, Bytes: 4096, File: hostile}
		require.NoError(t, w.Write(x))
	}
	require.NoError(t, w.Close())
	var got struct{ TraceEvents []event }
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatalf("%v: %.300s", err, b.String())
	}
	ends := map[int]float64{}
	whole, parts, ios, names := 0.0, 0.0, 0, 0
	for _, e := range got.TraceEvents {
		switch {
		case e.Phase == "M":
			names++
		case e.Args != nil:
			ios++
			whole += e.Length
			if e.At < ends[e.TID]-1e-6 {
				t.Errorf("%+v begins before %g, when the one before ends", e, ends[e.TID])
			}
			ends[e.TID] = e.At + e.Length
			if i := ios - 1; i%7 == 0 {
				parts += e.Length // nothing before the device: no parts
			}
		default:
			parts += e.Length
		}
	}
	if ios != 211 || whole-parts > 1e-6 || parts-whole > 1e-6 || names != 2+len(ends) || len(ends) < 4 {
		t.Errorf("%d I/Os of %g us, parts of %g us, %d names, %d lanes", ios, whole, parts, names, len(ends))
	}
}
