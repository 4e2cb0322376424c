package detect_test

import (
	"fmt"
	"time"

	"iocause/internal/detect"
)

// How an agent asks: history from the files, one call for each sample, and
// something to do for each answer.
func ExampleWatch() {
	history := detect.NewHistory(time.UTC)
	// summaries.Read(dir, history.Put)
	watch := detect.NewWatch(detect.Signals(), detect.DefaultRule(), time.UTC, history)

	start := time.Date(2026, 11, 4, 0, 0, 0, 0, time.UTC)
	kept := 0
	for second := range 30 * 3600 {
		at := start.Add(time.Duration(second) * time.Second)
		values := map[string]float64{"cpu.user": 0.5, "memory.pressure": 0, "disk.pressure": 0.1}
		if second >= 26*3600 && second < 26*3600+600 { // ten minutes of trouble
			values["cpu.user"], values["disk.pressure"] = 0.3, 0.6
		}
		d := watch.Add(detect.Sample{At: at, Values: values})
		kept += len(d.Hours) // summaries.Append(dir, d.Hours)
		switch i := d.Incident; d.Action {
		case detect.Open: // run the costly probes; incidents.Save
			fmt.Println("open ", i.Opened.Format(time.DateTime), "since", i.Start.Format(time.TimeOnly))
			for _, r := range i.Reasons {
				fmt.Printf("  %s %.1f, normal %.1f, z %.0f (%s)\n", r.Signal, r.Value, r.Normal, r.Z, r.Basis)
			}
		case detect.Extend: // what it is now, to be saved once a minute or so
		case detect.Close: // incidents.Save
			fmt.Println("close", i.End.Format(time.TimeOnly), "after", i.Samples, "bad samples")
		}
	}
	kept += len(watch.Flush())
	fmt.Println(kept, "hours of 3 signals, and of what was off in one of them")
	// Output:
	// open  2026-11-05 02:04:00 since 02:00:00
	//   cpu.user 0.3, normal 0.5, z 10 (last day)
	//   disk.pressure 0.6, normal 0.1, z 17 (last day)
	// close 02:10:00 after 60 bad samples
	// 93 hours of 3 signals, and of what was off in one of them
}
