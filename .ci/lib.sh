# Stages, packages and privileges: shared by .ci/run and test/all; meant to be sourced.
# shellcheck shell=bash

# What the stages were and how they ended, one line each. The outermost script
# makes the file and prints it; a script that it calls appends.
if [ -z "${IOCAUSE_STAGES:-}" ]; then
	IOCAUSE_STAGES=$(mktemp)
	export IOCAUSE_STAGES
	outermost=yes
else
	outermost=no
fi
readonly NOT_RUN=77 # a stage's status when it could not be run; it must print why

# stage NAME COMMAND... runs COMMAND under a heading, records how it ended and
# goes on, so that one run shows every failure.
stage() {
	local name=$1 start=$SECONDS status verdict
	shift
	printf '\n==> %s\n' "$name"
	set +e
	(
		set -e
		"$@"
	)
	status=$?
	set -e
	case $status in
	0) verdict=ok ;;
	"$NOT_RUN") verdict='NOT RUN' ;;
	*) verdict="FAILED ($status)" ;;
	esac
	printf '%-12s %4d s  %s\n' "$verdict" $((SECONDS - start)) "$name" | tee -a "$IOCAUSE_STAGES"
}

# finish prints the stages and exits 1 when one of them failed.
finish() {
	local status=0
	if grep -q '^FAILED' "$IOCAUSE_STAGES"; then status=1; fi
	if [ "$outermost" = yes ]; then
		printf '\n==> summary, %d s in all\n' "$SECONDS"
		cat "$IOCAUSE_STAGES"
		rm -f "$IOCAUSE_STAGES"
	fi
	exit "$status"
}

# not_run says why and ends the stage.
not_run() {
	echo "NOT RUN: $*"
	exit "$NOT_RUN"
}

# must_run is not_run, but a failure in CI, where the machine is known to be able.
must_run() {
	echo "NOT RUN: $*"
	if in_ci; then exit 1; fi
	exit "$NOT_RUN"
}

in_ci() { [ "${CI:-}" = true ]; }
is_root() { [ "$(id -u)" -eq 0 ]; }

# can_be_root: root already, or sudo that asks no password or has somebody to ask.
can_be_root() {
	is_root && return
	command -v sudo >/dev/null || return
	sudo -n true 2>/dev/null || { [ -t 0 ] && sudo -v; }
}

as_root() {
	if is_root; then "$@"; else sudo "$@"; fi
}

# install_missing PROBE=PACKAGE... installs what is not there. PROBE is a
# command, or the absolute path of a file.
install_missing() {
	local item probe wanted=()
	for item; do
		probe=${item%%=*}
		case $probe in
		/*) [ ! -e "$probe" ] || continue ;;
		*) ! PATH=$PATH:/usr/sbin:/sbin command -v "$probe" >/dev/null || continue ;;
		esac
		wanted+=("${item#*=}")
	done
	if [ ${#wanted[@]} -eq 0 ]; then
		echo "all packages are there"
		return
	fi
	if ! command -v apt-get >/dev/null; then
		echo "install the equivalents of these Debian packages: ${wanted[*]}"
		return 1
	fi
	if ! can_be_root; then
		echo "install as root: apt-get install ${wanted[*]}"
		return 1
	fi
	echo "installing ${wanted[*]}"
	as_root apt-get -qq update </dev/null
	as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o Dpkg::Use-Pty=0 install --no-install-recommends "${wanted[@]}" </dev/null
}
