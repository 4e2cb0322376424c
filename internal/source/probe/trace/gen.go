package trace

//go:generate go tool bpf2go -target bpfel -cc clang-14 -strip llvm-strip-14 -type event -type path_event -type inode_key -cflags "-O2 -g -Wall -Werror -mcpu=v3 -I../../../bpf/include" trace trace.bpf.c
