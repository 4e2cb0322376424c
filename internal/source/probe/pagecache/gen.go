package pagecache

//go:generate go tool bpf2go -target bpfel -cc clang-14 -strip llvm-strip-14 -type file_key -type account -type sums -type process -type wait_times -type path -type inode_key -type touch_key -type asked_key -type timed_key -type timed_calls -cflags "-O2 -g -Wall -Werror -mcpu=v3 -I../../../bpf/include" pagecache pagecache.bpf.c
