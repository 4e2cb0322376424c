package blockio

//go:generate go tool bpf2go -target bpfel -cc clang-14 -strip llvm-strip-14 -type io -type near_owner -type near_set -type chunk_key -type near_device -type near_bin -type owner_key -type file_key -type bios -type disk_set -type disk -type device -type hist_key -type hists -type depth_io -type bin_key -type bin -type failure_key -type failure -type process_bios -type throttle_key -type layer_set -type layer -cflags "-O2 -g -Wall -Werror -mcpu=v3 -I../../../bpf/include" blockio blockio.bpf.c
