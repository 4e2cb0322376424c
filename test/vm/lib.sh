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

# merge takes lines into a table, each in the place of the one with the same first
# columns, or at the end of what lies between two comments (the end of the file).
merge() { # SEPARATOR COLUMNS LINES BEGIN END FILE
	awk -v separator="$1" -v columns="$2" -v lines="$3" -v begin="$4" -v end="$5" '
		function key(line, f, i, k) { split(line, f, separator); for (i = 1; i <= columns; i++) k = k SUBSEP f[i]; return k }
		function rest(i) { for (i = 1; i <= n; i++) if (order[i] in new) print new[order[i]]; inside = 0 }
		BEGIN { inside = begin == ""; while ((getline line <lines) > 0) { new[key(line)] = line; order[++n] = key(line) } }
		end != "" && index($0, end) == 1 { rest() }
		inside && key($0) in new { print new[key($0)]; delete new[key($0)]; next }
		begin != "" && index($0, begin) == 1 { inside = 1 }
		{ print }
		END { if (inside) rest() }' "$6" >"$6.merged"
	mv "$6.merged" "$6"
}
