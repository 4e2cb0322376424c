package burst

//go:generate go tool bpf2go -target bpfel -cc clang-14 -strip llvm-strip-14 -type bin -type owner -cflags "-O2 -g -Wall -Werror -mcpu=v3 -I../../../bpf/include" burst burst.bpf.c
