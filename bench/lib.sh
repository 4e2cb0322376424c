# What the benchmarks share; meant to be sourced. Each runs as root, keeps its
# files in a scratch folder that it removes, and prints one table.
# shellcheck shell=bash
set -euo pipefail
export LC_ALL=C
repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export PATH=$PATH:/usr/local/go/bin:/usr/sbin:/sbin

# What to undo at the end, newest first.
undo=()
later() { undo+=("$(printf '%q ' "$@")"); }
finish() {
	local status=$? i
	trap - EXIT INT TERM
	set +e
	for ((i = ${#undo[@]} - 1; i >= 0; i--)); do
		eval "${undo[i]}" >/dev/null 2>&1
	done
	exit "$status"
}

# begin COMMAND=PACKAGE... checks what is needed and makes $scratch, below
# BENCH_DIR (default /var/tmp; it should be on a disk).
begin() {
	local need
	if [ "$(id -u)" -ne 0 ]; then
		echo "$0: run as root" >&2
		exit 1
	fi
	for need; do
		if ! command -v "${need%%=*}" >/dev/null; then
			echo "$0: ${need%%=*} is missing: apt-get install ${need#*=}" >&2
			exit 1
		fi
	done
	trap finish EXIT
	trap 'exit 130' INT TERM
	scratch=$(mktemp -d "${BENCH_DIR:-/var/tmp}/iocause-bench-XXXXXX")
	later rm -rf "$scratch"
}

# choose [BINARY...] fills binaries with what to measure: the arguments, or
# this tree, built. Two binaries are measured against each other.
choose() {
	local binary
	binaries=()
	for binary; do binaries+=("$(realpath "$binary")"); done
	if [ ${#binaries[@]} -gt 0 ]; then return; fi
	binaries=("$scratch/iocause")
	(cd "$repository" && CGO_ENABLED=0 go build -trimpath -o "$scratch/iocause" .)
}

# machine prints what the numbers were measured on.
machine() {
	printf 'Linux %s, %s x %s, load %s\n' "$(uname -r)" "$(nproc)" \
		"$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1)" "$(cut -d' ' -f1 /proc/loadavg)"
}

# busy sets ticks to the 1/100 s that all processors worked so far.
busy() {
	local user nice system irq soft steal _
	read -r _ user nice system _ _ irq soft steal _ </proc/stat
	ticks=$((user + nice + system + irq + soft + steal))
}

# links prints how many kernel programs a process has attached.
links() { { find "/proc/$1/fd" -lname '*bpf[-_]link*' 2>/dev/null || true; } | wc -l; } # files come and go

# others tells whether somebody else observes with iocause.
others() {
	local pid
	for pid in $(pgrep -x 'iocause|tick'); do
		if [ "$pid" != "$tool" ] && [ "$(links "$pid")" -gt 0 ]; then return 0; fi
	done
	return 1
}

# quiet waits, up to three minutes, until nobody else uses the machine; with
# QUIET=0 it does not wait, to try a benchmark out.
quiet() {
	local before calm=0 began=$SECONDS
	[ "${QUIET:-1}" -ne 0 ] || return 0
	while [ "$calm" -lt 2 ]; do
		busy
		before=$ticks
		sleep 0.4
		busy
		if [ $((ticks - before)) -le 3 ] && ! others; then calm=$((calm + 1)); else calm=0; fi
		if [ $((SECONDS - began)) -gt 180 ]; then
			echo "  (the machine is not quiet)" >&2
			return
		fi
	done
}

# cpu_of PID sets used to the 1/100 s that a process worked, 0 for none.
cpu_of() {
	local stat fields
	used=0 # read by who calls this
	[ -n "$1" ] && read -r stat <"/proc/$1/stat" || return 0
	read -ra fields <<<"${stat##*) }"
	# shellcheck disable=SC2034 # read by who calls this
	used=$((fields[11] + fields[12]))
}

# observe BINARY attaches iocause and returns when it counts: pid in $tool.
observe() {
	"$1" diagnose --duration 1h --format "${2:-json}" >"$scratch/report" 2>"$scratch/notes" &
	tool=$!
	attached
}

attached() {
	local before=0 now=0
	while [ "$now" -eq 0 ] || [ "$now" -ne "$before" ]; do
		sleep 0.3
		before=$now
		now=$(links "$tool")
		if ! [ -e "/proc/$tool" ]; then
			cat "$scratch/notes" >&2
			exit 1
		fi
	done
	sleep "${SETTLE:-0.5}"
}

# detach ends what observes.
detach() {
	[ -n "${tool:-}" ] || return 0
	kill -INT "$tool" 2>/dev/null || true
	wait "$tool" 2>/dev/null || true
	tool=
}
later detach
tool=

# sleepers N starts processes that do nothing; wake ends them.
sleeping=()
sleepers() {
	local i
	for ((i = 0; i < $1; i++)); do
		sleep 3600 &
		sleeping+=($!)
	done
}
wake() {
	[ ${#sleeping[@]} -gt 0 ] || return 0
	kill "${sleeping[@]}" 2>/dev/null || true
	wait "${sleeping[@]}" 2>/dev/null || true
	sleeping=()
}
later wake

# spread FORMAT [COLUMN] reads rows and prints the column's min, median and max.
spread() {
	awk -v c="${2:-1}" '{ print $c }' | sort -g | awk -v f="$1" '
		{ v[NR] = $1 }
		END {
			if (!NR) { print "- - -"; exit }
			m = NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2
			printf f " " f " " f "\n", v[1], m, v[NR]
		}'
}
