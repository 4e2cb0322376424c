package perfscript

import (
	"bytes"
	"strings"
)

// tidy makes a name short and takes the separators out of it.
func tidy(name, path, short string, java bool) string {
	if name == "[unknown]" {
		if path == "[unknown]" {
			return "[unknown]"
		}
		name = "[" + short + "]"
	}
	name = strings.ReplaceAll(name, ";", ":")
	if !goMethod(name) {
		name = cutArguments(name)
	}
	if strings.ContainsAny(name, `"'`) {
		name = strings.NewReplacer(`"`, "", `'`, "").Replace(name)
	}
	if java && strings.Contains(name, "/") {
		name = strings.TrimPrefix(name, "L")
	}
	return name
}

// goMethod tells names such as net/http.(*Client).Do.
func goMethod(name string) bool {
	_, rest, found := strings.Cut(name, ".(")
	return found && strings.Contains(rest, ").")
}

// cutArguments cuts at the first bracket that opens arguments.
func cutArguments(name string) string {
	const anonymous = "(anonymous namespace)"
	for at := 0; ; {
		i := strings.IndexByte(name[at:], '(')
		if i < 0 {
			return name
		}
		at += i
		if !strings.HasPrefix(name[at:], anonymous) {
			return name[:at]
		}
		at += len(anonymous)
	}
}

// stripOffset takes "+0x1f" off the end.
func stripOffset(name []byte) []byte {
	i := len(name)
	for i > 0 && (digit(name[i-1]) || name[i-1] >= 'a' && name[i-1] <= 'f') {
		i--
	}
	if i < len(name) && bytes.HasSuffix(name[:i], []byte("+0x")) {
		return name[:i-3]
	}
	return name
}
