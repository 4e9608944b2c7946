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
mkdir -p "$work/root" "$work/debs"

. "$(dirname "$0")/../debian/suite.sh"
use_suite $suite deb "$work/apt"
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
