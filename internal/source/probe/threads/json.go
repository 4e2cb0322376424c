package threads

import (
	"encoding/json"
	"time"

	"iocause/internal/sample"
)

// StateTimes are times by state. JSON has them by the states' keys, without
// those of 0; a state of a later version is left out, and so counts as time
// that no state accounts for.
type StateTimes [States]time.Duration

// MarshalJSON implements json.Marshaler.
func (t StateTimes) MarshalJSON() ([]byte, error) { return json.Marshal(byKey(t[:], State.Key)) }

// UnmarshalJSON implements json.Unmarshaler.
func (t *StateTimes) UnmarshalJSON(b []byte) error {
	var times map[string]time.Duration
	if err := json.Unmarshal(b, &times); err != nil {
		return err
	}
	for s := range t {
		t[s] = times[State(s).Key()]
	}
	return nil
}

// PartTimes are times by part. JSON has them by the parts' keys, without those
// of 0; a part of a later version counts as other, so that all of them are the
// wall time.
type PartTimes [Parts]time.Duration

// MarshalJSON implements json.Marshaler.
func (t PartTimes) MarshalJSON() ([]byte, error) { return json.Marshal(byKey(t[:], Part.Key)) }

// UnmarshalJSON implements json.Unmarshaler.
func (t *PartTimes) UnmarshalJSON(b []byte) error {
	var times map[string]time.Duration
	if err := json.Unmarshal(b, &times); err != nil {
		return err
	}
	for p := range t {
		key := Part(p).Key()
		t[p] = times[key]
		delete(times, key)
	}
	for _, d := range times {
		t[PartOther] += d
	}
	return nil
}

// byKey are the times that are not 0.
func byKey[K ~int](times []time.Duration, key func(K) string) map[string]time.Duration {
	out := map[string]time.Duration{}
	for i, d := range times {
		if d != 0 {
			out[key(K(i))] = d
		}
	}
	return out
}

// PartLengths are the lengths of calls by part, nil where the part is 0 in all.
// JSON has them by the parts' keys.
type PartLengths [Parts]*sample.Times

// MarshalJSON implements json.Marshaler.
func (l PartLengths) MarshalJSON() ([]byte, error) {
	out := map[string]*sample.Times{}
	for p := range l {
		if l[p] != nil {
			out[Part(p).Key()] = l[p]
		}
	}
	return json.Marshal(out)
}

// UnmarshalJSON implements json.Unmarshaler.
func (l *PartLengths) UnmarshalJSON(b []byte) error {
	var lengths map[string]*sample.Times
	if err := json.Unmarshal(b, &lengths); err != nil {
		return err
	}
	for p := range l {
		l[p] = lengths[Part(p).Key()]
	}
	return nil
}
