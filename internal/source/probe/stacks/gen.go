package stacks

//go:generate go tool bpf2go -target bpfel -cc clang-14 -strip llvm-strip-14 -type key -type row -type stack -type regs -type waiter -type stall -cflags "-O2 -g -Wall -Werror -mcpu=v3 -I../../../bpf/include" stacks stacks.bpf.c
