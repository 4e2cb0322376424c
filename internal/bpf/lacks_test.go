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
	fitted := hasNoAtomics() // as objects are to such a kernel
	refused := fmt.Errorf("loading: %w", ErrRefused)
	if err := lacks(refused, fitted); !errors.Is(err, ErrRefused) || errors.Is(err, ErrNotSupported) {
		t.Errorf("a refusal became %v", err)
	}
	if err := lacks(ErrFiles, fitted); err != ErrFiles {
		t.Errorf("%v became %v", ErrFiles, err)
	}
}
