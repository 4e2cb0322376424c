package fuse

//go:generate go tool bpf2go -target bpfel -cc clang-14 -strip llvm-strip-14 -cflags "-O2 -g -Wall -Werror -mcpu=v3 -I../../../bpf/include" fuse fuse.bpf.c
