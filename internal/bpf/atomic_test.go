package bpf

import (
	"errors"
	"fmt"
	"testing"
)

// Where the verifier knows atomic operations, its refusal stays one.
func TestARefusalStaysOne(t *testing.T) {
	if err := permitted(); err != nil {
		t.Skip(err)
	}
	refused := fmt.Errorf("loading: %w", ErrRefused)
	if err := oldVerifier(refused); !errors.Is(err, ErrRefused) || errors.Is(err, ErrNotSupported) {
		t.Errorf("a refusal became %v", err)
	}
	other := errors.New("another")
	if err := oldVerifier(other); err != other {
		t.Errorf("what is no refusal became %v", err)
	}
}
