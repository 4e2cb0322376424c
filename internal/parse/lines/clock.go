package lines

import (
	"strings"
	"time"
)

// Clock reads the time of day in a line that holds a date and a time in some
// language and nothing else; the day is not known.
func Clock(s string) (time.Time, bool) {
	s = strings.NewReplacer("\u65f6", ":", "\u6642", ":", "\uc2dc ", ":", "\uc2dc", ":", "\u5206", ":", "\ubd84 ", ":", "\ubd84", ":", "\u79d2", "", "\ucd08", "",
		"\u5e74", ".", "\u6708", ".", "\u65e5", "", "\ub144", ".", "\uc6d4", ".", "\uc77c", "").Replace(s)
	if strings.Trim(s, "0123456789:./- ,APMapm") != "" {
		return time.Time{}, false
	}
	f := strings.Fields(strings.ToUpper(s))
	for i, word := range f {
		if len(word) != 8 || strings.Count(word, ":") != 2 || i == 0 {
			continue
		}
		layout := "15:04:05"
		if i+1 < len(f) && (f[i+1] == "AM" || f[i+1] == "PM") {
			word, layout = word+" "+f[i+1], "03:04:05 PM"
		}
		t, err := time.Parse(layout, word)
		return t, err == nil
	}
	return time.Time{}, false
}
