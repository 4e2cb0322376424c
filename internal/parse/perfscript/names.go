package perfscript

import (
	"bytes"
	"strings"

	"iocause/internal/sample"
)

// frames are the functions of one line, whose offset is taken off: several where the compiler put one
// into the other (OUTER->INNER), outermost first. java is a program of that
// name, whose classes are written as the JVM writes types.
func frames(function, module []byte, java bool) []*sample.Frame {
	name := string(function)
	if strings.HasPrefix(name, "(") {
		return nil // the name of a process, which old versions print here
	}
	kernel := len(module) > 0 && module[0] == '[' && !bytes.Equal(module, []byte("[unknown]")) ||
		bytes.HasSuffix(module, []byte("vmlinux"))
	path := string(module)
	short := path[strings.LastIndexByte(path, '/')+1:]
	parts := strings.Split(name, "->")
	for len(parts) > 1 && parts[len(parts)-1] == "" {
		parts = parts[:len(parts)-1]
	}
	out := make([]*sample.Frame, 0, len(parts))
	for i, part := range parts {
		part = tidy(part, path, short, java)
		if i > 0 && !strings.Contains(part, "_[i]") {
			part += "_[i]"
		}
		out = append(out, &sample.Frame{Name: part, Module: short, File: path, Kernel: kernel})
	}
	return out
}

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
