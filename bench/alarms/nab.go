package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"iocause/internal/detect"
	"iocause/internal/sample"
)

// nabName is the detector's name in NAB's folders.
const nabName = "iocause"

// rate writes what the baselines say of every file of the Numenta Anomaly
// Benchmark into its folder of results, where its own scorer reads it. NAB has
// one signal a file, at 5 minutes or so; the rule needs three. So this rates
// the reference and the scale alone.
func rate(nab string) error {
	text, err := os.ReadFile(filepath.Join(nab, "labels", "combined_windows.json"))
	if err != nil {
		return fmt.Errorf("reading NAB's labels: %w", err)
	}
	windows := map[string][][2]string{}
	if err := json.Unmarshal(text, &windows); err != nil {
		return fmt.Errorf("reading NAB's labels: %w", err)
	}
	data := filepath.Join(nab, "data")
	return filepath.WalkDir(data, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".csv") {
			return err
		}
		rel, err := filepath.Rel(data, path)
		if err != nil {
			return err
		}
		if err := rateFile(path, filepath.Join(nab, "results", nabName, filepath.Dir(rel), nabName+"_"+filepath.Base(rel)), windows[rel]); err != nil {
			return fmt.Errorf("rating %s: %w", rel, err)
		}
		return nil
	})
}

func rateFile(from, to string, windows [][2]string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	rows, err := csv.NewReader(in).ReadAll()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	defer out.Close()
	w := csv.NewWriter(out) // it keeps its first error
	r := newRater()
	for i, row := range rows {
		if i == 0 {
			w.Write([]string{"timestamp", "value", "anomaly_score", "label"})
			continue
		}
		at, err := time.Parse(time.DateTime, row[0])
		if err != nil {
			return err
		}
		v, err := strconv.ParseFloat(row[1], 64)
		if err != nil {
			return err
		}
		label := "0"
		for _, win := range windows { // "2014-07-01 00:00:00.000000": they sort as text
			if row[0] >= win[0][:len(row[0])] && row[0] <= win[1][:len(row[0])] {
				label = "1"
			}
		}
		w.Write([]string{row[0], row[1], strconv.FormatFloat(r.rate(at, v), 'f', 9, 64), label})
	}
	w.Flush()
	return w.Error()
}

// rater rates one series as it comes.
type rater struct {
	history *detect.History
	signal  detect.Signal
	hour    time.Time
	values  []float64
	all     []float64 // sorted: the floor of the scale is a part of their spread
	ref     detect.Reference
	recent  []rated
}

type rated struct {
	at time.Time
	z  float64
}

// join is how long what stands out less than before is taken for the same.
const join = 120 * time.Hour

func newRater() *rater {
	return &rater{history: detect.NewHistory(time.UTC), signal: detect.Signal{Name: "x"}, ref: detect.Reference{Basis: detect.Learning}}
}

// rate is 0 for what is normal, up to 1; what is no worse than something
// shortly before is 0 too, as repeats are one incident.
func (r *rater) rate(at time.Time, v float64) float64 {
	if hour := at.Truncate(time.Hour); !hour.Equal(r.hour) {
		r.endHour()
		r.hour = hour
		if n := len(r.all); n > 0 {
			r.signal.Floor = max(0.25*(r.all[n*9/10]-r.all[n/10]), 0.001*math.Abs(r.all[n/2]), 1e-9)
		}
		r.ref = r.history.Reference(&r.signal, at)
	}
	r.values = append(r.values, v)
	i, _ := slices.BinarySearch(r.all, v)
	r.all = slices.Insert(r.all, i, v)
	z := math.Abs(r.ref.Z(&r.signal, v))
	for len(r.recent) > 0 && at.Sub(r.recent[0].at) > join {
		r.recent = r.recent[1:]
	}
	first := !slices.ContainsFunc(r.recent, func(x rated) bool { return x.z >= z })
	r.recent = append(r.recent, rated{at, z})
	if !first {
		return 0
	}
	return 1 - math.Exp(-z/20)
}

// endHour sums up the hour. Its samples weigh as many of ten seconds, whatever
// their distance.
func (r *rater) endHour() {
	if len(r.values) == 0 {
		return
	}
	slices.Sort(r.values)
	x := sample.Hour{Signal: "x", Start: r.hour, N: int(time.Hour / step)}
	for i, q := range sample.HourQuantiles() {
		at := q * float64(len(r.values)-1)
		lo := int(at)
		hi := min(lo+1, len(r.values)-1)
		x.Q[i] = r.values[lo] + (at-float64(lo))*(r.values[hi]-r.values[lo])
	}
	x.Extreme = x.Q[4]
	r.history.Put(x)
	r.values = r.values[:0]
}
