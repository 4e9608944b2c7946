#!/bin/sh
# Runs the README's two commands, make demo and make test, on machines that nobody has touched: make fresh.
#
#	RUNS="SUITE:WHO ..."    Debians, made with debootstrap: git, make, ca-certificates and Go, and nothing else. WHO is user
#	                        (without rights) or root
#	COMMANDS="demo test"    targets of make; "ci" is .ci/run
#
# A run gets a new copy of the system and a clone of the commit that is checked out. The network is that of this machine,
# with its certificates and its Go. It takes root, debootstrap, about 6 GB in the user's cache folder, which are given back,
# and the time of the commands. The last lines say what became of each run; logs stay in bin/fresh.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
: "${RUNS:=bookworm:user bookworm:root trixie:user}" "${COMMANDS:=demo test}" "${GO:=go}"
logs=$root/bin/fresh
work=${XDG_CACHE_HOME:-$HOME/.cache}/hashgrove-test/fresh.$$
certificates=${SSL_CERT_FILE:-/etc/ssl/certs/ca-certificates.crt}

fail() { echo "fresh: $*" >&2; exit 1; }
[ "$(id -u)" = 0 ] || fail "only root can make a system of its own"
command -v debootstrap >/dev/null || {
	apt-get update -q >/dev/null && apt-get install -q -y --no-install-recommends debootstrap >/dev/null ||
		fail "debootstrap cannot be installed"
}
mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/debian.sources 2>/dev/null |
	sed -n 's/^URIs: *\([^ ]*\).*/\1/p; s/^deb  *\(\[[^]]*\] *\)\{0,1\}\([^ ]*\/debian\/\{0,1\}\) .*/\2/p' | head -n 1)
[ -n "$mirror" ] || fail "this machine does not say where its packages come from"
rm -rf "$logs" && mkdir -p "$logs" "$work"
# Whatever was mounted is in name spaces that have ended with their commands.
trap 'rm -rf "$work"' EXIT

# base SUITE makes $work/SUITE.tar, if it is not there.
base() {
	[ ! -e "$work/$1.tar" ] || return 0
	debootstrap --variant=minbase --include=git,make,ca-certificates "$1" "$work/$1" "$mirror" >"$logs/$1.debootstrap" 2>&1 ||
		fail "debootstrap failed: $(tail -n 1 "$logs/$1.debootstrap")"
	tar -C "$work/$1" -cf "$work/$1.tar" . && rm -rf "${work:?}/$1"
}

# inside SYSTEM USER COMMAND runs a command in a system, in name spaces of its own.
inside() {
	unshare --mount --pid --fork --kill-child sh -ec '
		system=$1 user=$2 command=$3
		mount --make-rprivate /
		mount -t proc proc "$system/proc"
		mount --rbind /sys "$system/sys"
		mount --rbind /dev "$system/dev"
		mount -t tmpfs tmpfs "$system/run"
		mount --bind "$4" "$system/usr/local/go"
		mount -o remount,ro,bind "$system/usr/local/go"
		exec chroot "$system" su -s /bin/sh "$user" -c "$command"
	' sh "$1" "$2" "$3" "$("$GO" env GOROOT)"
}

# one SUITE RUN: a machine, a clone, the commands.
one() {
	system=$work/$1-$2 log=$logs/$1-$2.log user=root home=/root path=/usr/local/go/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin
	mkdir -p "$system" && tar -C "$system" -xf "$work/$1.tar" && mkdir -p "$system/usr/local/go"
	cp /etc/resolv.conf /etc/hosts "$system/etc/"
	cp "$certificates" "$system/etc/ssl/certs/ca-certificates.crt"
	apt-config dump Acquire::Check-Valid-Until | grep '"' >"$system/etc/apt/apt.conf.d/90machine" || true
	if [ "$2" = user ]; then
		user=tester home=/home/tester
		chroot "$system" useradd -m tester
	fi
	git clone -q --no-hardlinks "$root" "$system$home/hashgrove"
	chroot "$system" chown -R "$user" "$home/hashgrove"
	environment="export HOME=$home PATH=$path GOPROXY='$("$GO" env GOPROXY)' GOSUMDB='$("$GO" env GOSUMDB)' GOFLAGS=-buildvcs=false
		unset XDG_CACHE_HOME CI; cd ~/hashgrove"
	line="fresh: $1 $2:"
	for command in $COMMANDS; do
		case $command in
		ci) run="bash .ci/run" ;;
		demo) run="make build && date +%s >/tmp/built && make demo" ;;
		*) run="make $command" ;;
		esac
		began=$(date +%s)
		echo "== $run" >>"$log"
		if ! inside "$system" "$user" "$environment; $run" >>"$log" 2>&1 </dev/null; then
			echo "$line $command FAILED after $(($(date +%s) - began)) s, see $log"
			return 1
		fi
		ended=$(date +%s)
		line="$line $command $((ended - began)) s"
		[ "$command" != demo ] || line="$line ($((ended - $(cat "$system/tmp/built"))) s of them the program),"
	done
	left=$(chroot "$system" su -s /bin/sh "$user" -c "cd $home/hashgrove && git status --porcelain | head -n 3" &&
		find "$system/tmp" -mindepth 1 -maxdepth 1 ! -name built | head -n 5)
	echo "$line passed; $(grep -c '^ok ' "$log") packages${left:+; left behind: $left}"
	sed -n '/^setup: something is missing/,/^[^ ]/p' "$log" | grep '^  ' | sed "s/^ /fresh: $1 $2: skipped:/" || true
	rm -rf "$system"
}

status=0
for run in $RUNS; do
	suite=${run%:*} who=${run#*:}
	base "$suite"
	one "$suite" "$who" >"$logs/$suite-$who.result" 2>&1 || status=1
	cat "$logs/$suite-$who.result"
done
echo "fresh: commit $(git -C "$root" rev-parse --short HEAD), $(nproc) cores: $([ $status = 0 ] && echo all passed || echo FAILED)"
exit $status
