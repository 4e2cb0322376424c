package symbol

import (
	"debug/elf"
	"math/rand/v2"
	"os"
	"testing"

	"iocause/internal/host"
	"iocause/internal/require"
)

// BenchmarkStacks names 20,000 stacks of 30 functions of this program, and of
// 15 of the kernel.
func BenchmarkStacks(b *testing.B) {
	const stacks, user, inKernel = 20000, 30, 15
	text, err := os.ReadFile("/proc/self/maps")
	require.NoError(b, err)
	code := parseMaps(text)[0]
	e, err := elf.Open("/proc/self/exe")
	require.NoError(b, err)
	defer e.Close()
	k := readKernel(host.Live())
	if k.err != nil {
		b.Skip(k.err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	var ips, kips []uint64
	for range stacks * user {
		ips = append(ips, code.Start+random.Uint64N(code.End-code.Start))
	}
	for range stacks * inKernel {
		kips = append(kips, k.starts[random.IntN(len(k.starts))]+1)
	}
	r := New(host.Live())
	defer r.Close()
	r.User(os.Getpid(), ips[0], true) // reads the symbols
	r.Kernel(kips[0], true)
	for b.Loop() {
		clear(r.procs[os.Getpid()].names) // each address is looked up anew
		for _, ip := range ips {
			r.User(os.Getpid(), ip, true)
		}
		for _, ip := range kips {
			r.Kernel(ip, true)
		}
	}
}
