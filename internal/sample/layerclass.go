package sample

import "strings"

// LayerClass is the class of what a layer did: one operation, for one device that a
// file system lies on. In an entity it is "read dm-2".
type LayerClass struct {
	Op  string // "read", "write", "flush" or "other"
	Top string // the device that the bio was first sent to
}

// String is the class of an entity.
func (c LayerClass) String() string { return c.Op + " " + c.Top }

// ParseLayerClass reads the class of an entity; ok is false for any other.
func ParseLayerClass(class string) (c LayerClass, ok bool) {
	op, top, ok := strings.Cut(class, " ")
	if !ok || op == "" || top == "" {
		return LayerClass{}, false
	}
	return LayerClass{op, top}, true
}
