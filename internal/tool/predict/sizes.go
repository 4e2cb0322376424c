package predict

import (
	"fmt"
	"strconv"
	"strings"

	"iocause/internal/ask"
)

// Sizes reads a list of sizes of memory as people write it: 2G, or more or less than
// there is now (+50%, +4G, -512M).
func Sizes(list string) (asks []Ask, err error) {
	if list == "" {
		return nil, nil
	}
	for _, word := range strings.Split(list, ",") {
		word = strings.TrimSpace(word)
		wrong := &ask.Error{Err: fmt.Errorf("reading --memory: %q is not a memory size", word), Next: "give sizes (2G), or more or less than now (+50%, +4G, -512M)"}
		a, sign, rest := Ask{}, 1.0, strings.TrimPrefix(word, "+")
		if less, ok := strings.CutPrefix(word, "-"); ok {
			sign, rest = -1, less
		}
		a.Beside = rest != word
		if share, ok := strings.CutSuffix(rest, "%"); ok {
			n, err := strconv.ParseFloat(share, 64)
			if err != nil || !(n >= 0 && n <= 10000) || sign < 0 && n >= 100 {
				return nil, wrong
			}
			a.Share = sign * n / 100
		} else {
			var size ask.Size
			if err := size.Set(rest); err != nil || size == 0 {
				return nil, wrong
			}
			a.Bytes = sign * float64(size)
		}
		asks = append(asks, a)
	}
	return asks, nil
}
