# Shared by the scripts in this folder; meant to be sourced.
# shellcheck shell=bash

# Kernels and scratch files, outside the repository.
# shellcheck disable=SC2034 # used by the scripts that source this file
vm_cache=${IOCAUSE_VM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/iocause-vm}

die() {
	echo "${0##*/}: $*" >&2
	exit 2
}

# need COMMAND... stops when one is missing and names the Debian packages to install.
need() {
	local c missing=()
	for c; do
		command -v "$c" >/dev/null || missing+=("$c")
	done
	[ ${#missing[@]} -eq 0 ] && return
	die "missing: ${missing[*]}; apt-get install qemu-system-x86 qemu-system-arm busybox-static cpio zstd xz-utils e2fsprogs jq"
}

# usage prints the comment block at the top of the calling script and leaves with the given status.
usage() {
	sed -n '2,/^[^#]/{s/^# \{0,1\}//p;}' "$0" >&2
	exit "${1:-2}"
}
