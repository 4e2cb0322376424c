package bpf

import (
	"errors"
	"fmt"
	"testing"

	"iocause/internal/bpf/bpftest"
)

// Where the kernel has what every object needs, a failure stays what it is.
func TestAFailureStaysOne(t *testing.T) {
	bpftest.Need(t, "bpf", permitted())
	refused := fmt.Errorf("loading: %w", ErrRefused)
	if err := lacks(refused, false); !errors.Is(err, ErrRefused) || errors.Is(err, ErrNotSupported) {
		t.Errorf("a refusal became %v", err)
	}
	if err := lacks(ErrFiles, false); err != ErrFiles {
		t.Errorf("%v became %v", ErrFiles, err)
	}
}
