#!/bin/sh
# Installs what make check needs beside Go, where it is missing.
#
#	sh internal/testkit/needs/setup.sh            everything but spark
#	sh internal/testkit/needs/setup.sh THING ...  things by their names in needs.go
#
# Each thing is installed on its own. What cannot be had is listed at the end with the tests that are skipped for it, and
# the script ends with 0 all the same: a test that must not be skipped says so itself (HASHGROVE_REQUIRED). The names of
# missing things go to bin/missing, one a line, and what apt-get and npm print to bin/setup.log.
#
# It writes to the checkout, to the user's cache folder and, as root on Debian, through apt-get, and nowhere else.
set -u

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
cache=${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}/hashgrove-test
report=$root/bin/missing log=$root/bin/setup.log
mkdir -p "$root/bin" && : >"$report" && : >"$log" || report=/dev/null log=/dev/null

has() { command -v "$1" >/dev/null 2>&1; }
can_install() { [ "$(id -u)" = 0 ] && has apt-get; }

# fetch_packages PACKAGE ...: installs packages of Debian. The lists are brought up to date once, before the first.
updated=
fetch_packages() {
	export DEBIAN_FRONTEND=noninteractive
	[ -n "$updated" ] || apt-get update -q
	updated=yes
	apt-get install -q -y --no-install-recommends -o DPkg::Lock::Timeout=300 "$@"
}

# need THING LOSS CHECK WAY ...: where the command CHECK fails, tries one way after the other until it succeeds. A way is
# names of Debian packages, or a command after "run:", which needs no root.
wanted=" ${*:-everything} "
lost=
advice=
need() {
	thing=$1 loss=$2 check=$3
	shift 3
	case $wanted in *" $thing "* | " everything ") ;; *) return ;; esac
	$check >/dev/null 2>&1 && return
	why=
	for way in "$@"; do
		case $way in
		run:*)
			echo "setup: $thing: ${way#run:}"
			(eval "${way#run:}") >>"$log" 2>&1 || why="${way#run:} failed: $(tail -n 1 "$log")"
			;;
		*)
			if ! can_install; then
				advice="$advice $way"
				why=${why:-only root can install it}
				has apt-get || why="there is no apt-get here"
				continue
			fi
			echo "setup: $thing: apt-get install $way"
			# shellcheck disable=SC2086
			fetch_packages $way >>"$log" 2>&1 || why="apt-get cannot install $way: $(grep '^E: ' "$log" | tail -n 1)"
			;;
		esac
		$check >/dev/null 2>&1 && return
	done
	echo "$thing" >>"$report"
	lost="$lost
  $thing: $loss (${why:-it does not work after the installation})"
}

has_browser() {
	[ -n "${CHROME:-}" ] && has "$CHROME" || has chromium || has chromium-browser || has google-chrome || has chrome
}
imports() { /usr/bin/python3 -c "import $1" || python3 -c "import $1"; }
has_numpy() { imports numpy; }
has_faiss() { imports faiss; }
has_sklearn() { imports sklearn,pandas; }
has_venv() { imports venv,ensurepip; }
has_gcc() { echo 'int main(void) { return 0; }' | gcc -xc -include stdio.h -o /dev/null -; }
has_opencl() { ls /etc/OpenCL/vendors/*.icd && { ldconfig -p | grep -q libOpenCL || /sbin/ldconfig -p | grep -q libOpenCL; }; }
has_postgres() { has pg_ctl || ls /usr/lib/postgresql/*/bin/initdb; }
has_qemu() { has qemu-aarch64-static; }
has_systemd() { has systemd-analyze; }
has_shell() { has bash && has curl; }
has_pgvector() {
	has_postgres && { ls "$cache"/pgvector-*/vector.so || ls /usr/share/postgresql/*/extension/vector.control; }
}

# npm_package THING prints name and version of a package of npm. It lies in $cache/NAME-VERSION once it was fetched.
npm_package() { sed -n "s/^$1 //p" "$here/npm.txt"; }
has_package() {
	# shellcheck disable=SC2046
	set -- $(npm_package "$1")
	[ -e "$cache/$1-$2/node_modules/$1/package.json" ]
}
has_axe() { has_package axe; }
has_onnx() { has node && has_package onnx; }

# fetch_npm THING brings a package of npm into the cache folder: with npm, or without it as an archive from the registry
# that npm's settings name, if there are any.
fetch_npm() {
	# shellcheck disable=SC2046
	set -- $(npm_package "$1")
	[ $# = 2 ] || return 1
	mkdir -p "$cache" || return 1
	work=$(mktemp -d "$cache/$1.XXXXXX") || return 1
	chmod 755 "$work"
	if has npm && npm install --ignore-scripts --no-audit --no-fund --prefix "$work" "$1@$2" ; then
		:
	else
		registry=${npm_config_registry:-${NPM_CONFIG_REGISTRY:-$(sed -n 's/^registry *= *//p' "$HOME/.npmrc" /etc/npmrc 2>/dev/null | head -n 1)}}
		mkdir -p "$work/node_modules/$1" && [ -n "$registry" ] && has curl &&
			curl -fsSL -o "$work/archive" "${registry%/}/$1/-/$1-$2.tgz" &&
			tar -xzf "$work/archive" -C "$work/node_modules/$1" --strip-components=1 || { rm -rf "$work"; return 1; }
	fi
	rm -rf "$cache/$1-$2" && mv "$work" "$cache/$1-$2"
}

# fetch_engines THING brings packages of PyPI, whose names follow in python.txt, into an environment in the cache folder.
has_engines() { [ -e "$cache/engines/has-$1" ] && grep "^$1 " "$here/python.txt" | cmp -s - "$cache/engines/has-$1"; }
fetch_engines() {
	[ -e "$cache/engines/bin/pip" ] || python3 -m venv "$cache/engines" || return 1
	# shellcheck disable=SC2046
	"$cache/engines/bin/pip" install -q $(sed -n "s/^$1 //p" "$here/python.txt") &&
		grep "^$1 " "$here/python.txt" >"$cache/engines/has-$1"
}
has_spark() { has_engines spark && has java; }

need shell "scripts of the documents" has_shell "bash curl"
need compiler "exported C code, and the race detector" has_gcc "gcc libc6-dev"
need python "the Python client" has_numpy "python3 python3-numpy"
need opencl "training on a GPU" has_opencl "pocl-opencl-icd ocl-icd-libopencl1"
need sklearn "scikit-learn's checks of the Python package" has_sklearn "python3-sklearn python3-pandas"
need systemd "how little of the machine the service can reach" has_systemd "systemd"
need venv "the wheel in a virtual environment" has_venv "python3-venv"
need faiss "FAISS reading our files" has_faiss "python3-faiss"
need postgres "PostgreSQL as an engine" has_postgres "postgresql"
need pgvector "searches with pgvector" has_pgvector "run:sh '$here/../pgtest/install.sh'"
need qemu "arm64" has_qemu "qemu-user-static" "qemu-user qemu-user-binfmt"
need browser "the pages in a browser" has_browser "chromium fonts-dejavu-core" "chromium" "chromium-browser"
need axe "what the pages are to people who cannot see" has_axe "run:fetch_npm axe" "npm" "run:fetch_npm axe"
need onnx "exported ONNX graphs" has_onnx "run:fetch_npm onnx" "nodejs" "npm" "run:fetch_npm onnx"
need engines "SQL in DuckDB and ClickHouse, and Dask" "has_engines engines" "run:fetch_engines engines"
case $wanted in *" spark "*) # makes half a gigabyte, for make engines
	need spark "Spark" has_spark "run:fetch_engines spark" "default-jre-headless" ;;
esac

if [ -n "$lost" ]; then
	echo "setup: something is missing, and these tests are skipped:$lost"
	if [ -n "$advice" ] && has apt-get; then
		echo "setup: root can install the packages with: apt-get install$advice"
	elif [ -n "$advice" ]; then
		echo "setup: this system has no apt-get. Install by hand what you want to test; Debian's names are:$advice"
	fi
fi
exit 0
