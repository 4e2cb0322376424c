package diagnose

import "fmt"

const pageSize = 4096

// bytes writes a size the way people read it: 3.2 GiB.
func bytes(b float64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	i := 0
	for b >= 1024 && i < len(units)-1 {
		b /= 1024
		i++
	}
	if i == 0 || b >= 100 {
		return fmt.Sprintf("%.0f %s", b, units[i])
	}
	return fmt.Sprintf("%.1f %s", b, units[i])
}

// percent writes a share.
func percent(share float64) string {
	p := share * 100
	if p != 0 && p < 1 {
		return fmt.Sprintf("%.2f %%", p)
	}
	return fmt.Sprintf("%.0f %%", p)
}

// duration writes seconds.
func duration(s float64) string {
	switch {
	case s < 1e-3:
		return fmt.Sprintf("%.0f us", s*1e6)
	case s < 1:
		return fmt.Sprintf("%.1f ms", s*1e3)
	}
	return fmt.Sprintf("%.1f s", s)
}
