#!/bin/sh
# Puts a Redis 8 server for the tests into the user's cache folder, where there is none yet. Debian has it from trixie on:
# its packages and the libraries that they need are unpacked side by side and run with the loader among them, so that
# nothing is installed and the machine stays as it is. It takes a few seconds, and root is not needed.
set -eu

if command -v redis-server >/dev/null 2>&1 && redis-server --version | grep -Eq 'v=([89]|[1-9][0-9])\.'; then
	exit 0
fi
folder=${XDG_CACHE_HOME:-$HOME/.cache}/hashgrove-test/redis-8
[ -x "$folder/redis-server" ] && exit 0
command -v apt-get >/dev/null 2>&1 && command -v dpkg-deb >/dev/null 2>&1 || { echo "there is no apt-get"; exit 1; }

suite=trixie
echo "Fetching Redis 8 of Debian $suite into $folder: the tests push codes into a server of their own."
mkdir -p "$(dirname "$folder")"
work=$(mktemp -d "$folder.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/apt/lists/partial" "$work/apt/cache/archives/partial" "$work/apt/parts" "$work/root" "$work/debs"

# Where packages come from is what the machine says, for another suite.
here=$(. /etc/os-release && echo "$VERSION_CODENAME")
if [ -e /etc/apt/sources.list.d/debian.sources ]; then
	awk -v RS= -v ORS='\n\n' -v here="$here" '$0 ~ "\nSuites:[^\n]* ?" here "( |\n|$)" { print; exit }' \
		/etc/apt/sources.list.d/debian.sources | sed "s/^Suites:.*/Suites: $suite/; s/^Types:.*/Types: deb/" \
		>"$work/apt/parts/debian.sources"
else
	grep -E "^deb .* $here main" /etc/apt/sources.list | head -n 1 | sed "s/ $here main.*/ $suite main/" \
		>"$work/apt/parts/debian.list"
fi
apt() {
	apt-get -q -o APT::Sandbox::User="$(id -un)" -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$work/apt/parts" \
		-o Dir::State::Lists="$work/apt/lists" -o Dir::Cache="$work/apt/cache" \
		-o Acquire::Languages=none -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false "$@"
}
apt update
(cd "$work/debs" && apt download redis-tools libc6 libgcc-s1 libstdc++6 libatomic1 libjemalloc2 liblzf1 libssl3t64 \
	libsystemd0 libcap2 zlib1g libzstd1)
for deb in "$work"/debs/*.deb; do dpkg-deb -x "$deb" "$work/root"; done
rm -rf "$work/apt" "$work/debs" "$work/root/usr/share"

# The program looks at its name to know what it is.
cat >"$work/redis-server" <<'END'
#!/bin/sh
here=$(dirname "$(readlink -f "$0")")/root/usr
set -- "$here/bin/redis-check-rdb" "$@"
for loader in "$here"/lib*/ld-linux*.so.* "$here"/lib/*/ld-linux*.so.*; do
	[ -e "$loader" ] && exec "$loader" --library-path "$(echo "$here"/lib/*-linux-gnu*)" --argv0 redis-server "$@"
done
END
chmod 755 "$work" "$work/redis-server"
"$work/redis-server" --version
rm -rf "$folder"
mv "$work" "$folder"
trap - EXIT
