#!/bin/sh
# Compiles pgvector for the tests, where Debian's newer suite can be reached: its source package, against the headers of
# the PostgreSQL server that is installed. Nothing is installed: the tests run a copy of the server that finds the
# extension in the user's cache folder. It takes less than a minute, once.
set -eu

here=$(dirname "$0")
server=$(ls -d /usr/lib/postgresql/*/bin/initdb 2>/dev/null | tail -n 1)
[ -n "$server" ] || { echo "there is no PostgreSQL of Debian"; exit 1; }
version=$(basename "$(dirname "$(dirname "$server")")")
folder=${XDG_CACHE_HOME:-$HOME/.cache}/hashgrove-test/pgvector-$version
[ -e "$folder/vector.so" ] && exit 0
[ -e "/usr/share/postgresql/$version/extension/vector.control" ] && exit 0
for program in apt-get dpkg-deb tar gcc; do
	command -v $program >/dev/null 2>&1 || { echo "there is no $program"; exit 1; }
done

suite=trixie
echo "Compiling pgvector of Debian $suite into $folder: the tests search with it."
mkdir -p "$(dirname "$folder")"
work=$(mktemp -d "$folder.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/source" "$work/root" "$work/built"
. "$here/../debian/suite.sh"
use_suite "$suite" deb-src "$work/newer"
apt update
(cd "$work/source" && apt source --download-only pgvector && tar -xf pgvector_*.orig.tar.* --strip-components=1)
use_suite "$(. /etc/os-release && echo "$VERSION_CODENAME")" deb "$work/own"
apt update
(cd "$work" && apt download "postgresql-server-dev-$version" && dpkg-deb -x postgresql-server-dev-*.deb root)

cd "$work/source"
for file in src/*.c; do
	gcc -O2 -fPIC -fno-math-errno -w -I"$work/root/usr/include/postgresql/$version/server" -Isrc -c "$file" \
		-o "$work/built/$(basename "$file" .c).o"
done
gcc -shared -o "$work/built/vector.so" "$work"/built/*.o -lm
rm "$work"/built/*.o
number=$(sed -n "s/^default_version = '\(.*\)'/\1/p" vector.control)
cp vector.control "$work/built/"
cp sql/vector.sql "$work/built/vector--$number.sql"
rm -rf "$folder"
mv "$work/built" "$folder"
