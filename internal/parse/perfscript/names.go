package perfscript

import (
	"bytes"
	"strings"
)

// unknown stands for a function or module of which perf has no name.
const unknown = "[unknown]"

// tidy makes a name short and takes the separators out of it.
func tidy(name, path, short string, java bool) string {
	if isTidy(name) {
		return name
	}
	if name == unknown {
		if path == unknown {
			return unknown
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

// isTidy tells names with none of what is changed, as most are.
func isTidy(name string) bool {
	for i := range len(name) {
		if c := name[i]; c|0x20-'a' >= 26 && c-'0' >= 10 && c != '_' && c != '.' && c != ':' && c != '@' {
			return false
		}
	}
	return true
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
	for i > 0 && (name[i-1]-'0' < 10 || name[i-1]-'a' < 6) {
		i--
	}
	if i < len(name) && bytes.HasSuffix(name[:i], []byte("+0x")) {
		return name[:i-3]
	}
	return name
}
