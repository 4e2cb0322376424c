package threads

//go:generate go tool bpf2go -target bpfel -cc clang-14 -strip llvm-strip-14 -cflags "-O2 -g -Wall -Werror -mcpu=v3 -I../../../bpf/include" threads threads.bpf.c
//go:generate go tool bpf2go -target bpfel -cc clang-14 -strip llvm-strip-14 -type slow_call -cflags "-O2 -g -Wall -Werror -mcpu=v3 -I../../../bpf/include" latency latency.bpf.c
