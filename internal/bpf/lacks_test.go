package bpf

import (
	"errors"
	"fmt"
	"testing"
)

// Where the kernel has what every object needs, a failure stays what it is.
func TestAFailureStaysOne(t *testing.T) {
	if err := permitted(); err != nil {
		t.Skip(err)
	}
	refused := fmt.Errorf("loading: %w", ErrRefused)
	if err := lacks(refused); !errors.Is(err, ErrRefused) || errors.Is(err, ErrNotSupported) {
		t.Errorf("a refusal became %v", err)
	}
	if err := lacks(ErrFiles); err != ErrFiles {
		t.Errorf("%v became %v", ErrFiles, err)
	}
}
