package sample

import "encoding/json"

// frameJSON is how a function is written.
type frameJSON struct {
	Name   RawName `json:"name"`
	Module RawName `json:"module,omitempty"`
	File   RawName `json:"file,omitempty"`
	Kernel bool    `json:"kernel,omitempty"`
	Note   bool    `json:"note,omitempty"`
}

// MarshalJSON loses no byte of the names.
func (f Frame) MarshalJSON() ([]byte, error) {
	return json.Marshal(frameJSON{RawName(f.Name), RawName(f.Module), RawName(f.File), f.Kernel, f.Note})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (f *Frame) UnmarshalJSON(b []byte) error {
	var x frameJSON
	if err := json.Unmarshal(b, &x); err != nil {
		return err
	}
	*f = Frame{string(x.Name), string(x.Module), string(x.File), x.Kernel, x.Note}
	return nil
}

// FrameList has the functions of many stacks, each once: stacks are written as
// places in it.
type FrameList struct {
	All []Frame
	at  map[*Frame]int
}

// Places are those of a stack's functions. What is not in the list is added.
func (l *FrameList) Places(stack []*Frame) []int {
	places := []int{}
	for _, f := range stack {
		at, ok := l.at[f]
		if !ok {
			if l.at == nil {
				l.at = map[*Frame]int{}
			}
			at = len(l.All)
			l.at[f] = at
			l.All = append(l.All, *f)
		}
		places = append(places, at)
	}
	return places
}

// StacksOf gives back the stacks that were written as places in a list. Places
// that are not there are left out: the file may be damaged.
func StacksOf(all []Frame) func(places []int) []*Frame {
	return func(places []int) []*Frame {
		var stack []*Frame
		for _, at := range places {
			if at >= 0 && at < len(all) {
				stack = append(stack, &all[at])
			}
		}
		return stack
	}
}
