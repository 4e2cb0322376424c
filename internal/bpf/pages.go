package bpf

import (
	"fmt"
	"math/bits"
	"os"

	"github.com/cilium/ebpf"
)

// pages tells an object that counts pages of files how large this kernel's are.
func pages(spec *ebpf.CollectionSpec) error {
	v := spec.Variables["page_shift"]
	if v == nil {
		return nil
	}
	if err := v.Set(uint32(bits.TrailingZeros(uint(os.Getpagesize())))); err != nil {
		return fmt.Errorf("setting page_shift: %w", err)
	}
	return nil
}
