package uplot

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"
)

// What is put into pages is what was published, to the byte.
func TestIsAsItWasPublished(t *testing.T) {
	for want, text := range map[string]string{
		"19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f": Script,
		"df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04": Style,
	} {
		if sum := sha256.Sum256([]byte(text)); hex.EncodeToString(sum[:]) != want {
			t.Errorf("%d bytes have the sum %x, want %s", len(text), sum, want)
		}
	}
}
