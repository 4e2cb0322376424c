package lab

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"iocause/internal/host"
)

// LeastRepeats is how many figures each side needs: of two, the spread is
// known too badly for an interval that says anything.
const LeastRepeats = 3

// OwnNames gives what this process's environments mounted, and their loop devices,
// names that are the same in every run, and leaves out those of other runs on the
// machine.
func OwnNames(h *host.Host, f *host.Fingerprint) {
	own := fmt.Sprintf("%s%d-", Prefix, os.Getpid())
	devices := map[string]string{} // of the lab, by the kernel's name; "" for others' runs
	for _, d := range f.Devices {
		file := h.LoopFile(d.Name)
		switch {
		case !strings.Contains(file, "/"+Prefix):
		case strings.Contains(file, "/"+own):
			devices[d.Name] = "lab:" + strings.TrimSuffix(filepath.Base(file), ".img")
		default:
			devices[d.Name] = ""
		}
	}
	var kept []host.FileSystem
	for _, fs := range f.FileSystems {
		if strings.Contains(fs.Mount, "/"+Prefix) {
			name := ""
			if strings.Contains(fs.Mount, "/"+own) {
				name = "lab:" + filepath.Base(fs.Mount)
			}
			devices[fs.Disk] = name
			if name == "" {
				continue
			}
			fs.Mount, fs.Device, fs.Disk = name, name, name
		}
		kept = append(kept, fs)
	}
	f.FileSystems = kept
	var disks []host.BlockDevice
	for _, d := range f.Devices {
		if name, ok := devices[d.Name]; ok {
			d.Name = name
		}
		if d.Name != "" {
			disks = append(disks, d)
		}
	}
	f.Devices = disks
}

// interval is the difference of two means, b less a, and half of its 95 %
// confidence interval by Welch (Biometrika 34, 1947), which lets the two
// sides spread unequally. ok is false with too few figures.
func interval(a, b []float64) (diff, half float64, ok bool) {
	if len(a) < LeastRepeats || len(b) < LeastRepeats {
		return 0, 0, false
	}
	meanA, errA := meanError(a)
	meanB, errB := meanError(b)
	sum := errA + errB
	if sum == 0 {
		return meanB - meanA, 0, true
	}
	free := sum * sum / (errA*errA/float64(len(a)-1) + errB*errB/float64(len(b)-1))
	return meanB - meanA, student(free) * math.Sqrt(sum), true
}

// Ratio is of b over a, of geometric means: its 95 % confidence interval:
// interval of the logarithms, as speeds vary by factors. ok is false with too
// few figures or one that is not above zero.
func Ratio(a, b []float64) (low, high float64, ok bool) {
	var logs [2][]float64
	for i, side := range [][]float64{a, b} {
		for _, v := range side {
			if !(v > 0) {
				return 0, 0, false
			}
			logs[i] = append(logs[i], math.Log(v))
		}
	}
	diff, half, ok := interval(logs[0], logs[1])
	return math.Exp(diff - half), math.Exp(diff + half), ok
}

// meanError is the mean and the square of its standard error.
func meanError(v []float64) (mean, squared float64) {
	for _, x := range v {
		mean += x / float64(len(v))
	}
	for _, x := range v {
		squared += (x - mean) * (x - mean)
	}
	return mean, squared / float64(len(v)-1) / float64(len(v))
}

// student is the 97.5 % quantile of Student's t, of a table, for the next
// smaller count of degrees of freedom in it: never too narrow.
func student(free float64) float64 {
	quantiles := []float64{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
		2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086}
	return quantiles[min(max(int(free), 1), len(quantiles))-1]
}
