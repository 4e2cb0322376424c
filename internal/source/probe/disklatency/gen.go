package disklatency

//go:generate go tool bpf2go -target bpfel -cc clang-14 -strip llvm-strip-14 -type disk_key -type disk_row -cflags "-O2 -g -Wall -Werror -mcpu=v3 -I../../../bpf/include" disklatency disklatency.bpf.c
