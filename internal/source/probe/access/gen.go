package access

//go:generate go tool bpf2go -target bpfel -cc clang-14 -strip llvm-strip-14 -type event -type process -type wait_key -cflags "-O2 -g -Wall -Werror -mcpu=v3 -I../../../bpf/include" access access.bpf.c
