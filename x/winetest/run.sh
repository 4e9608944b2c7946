#!/bin/sh
# Runs Hashgrove for Windows under wine, in a folder of its own that is removed afterwards. With arguments, these are
# those of go test. Without, it runs the tests of what touches files, and a session of the program whose models, codes
# and answers must be those of this system, byte by byte.
#
# Wine 8 lacks two things that programs in Go use. A small library (prng.c) gives them random numbers; and where wine
# answers "not implemented" when a file is to be removed, a copy of one file of the standard library goes the way that
# it has for old versions of Windows. Links are not made by wine, though it says so: tests of links are left out.
set -e
links='TestLinks|TestLinksAreFollowed|TestOutputCheck|TestNothingIsOverwritten'
go=${GO:-go}
for tool in wine wineserver x86_64-w64-mingw32-gcc; do
	if ! command -v $tool >/dev/null 2>&1; then
		$go run ./internal/testkit/needs/missing wine "$tool is missing: nothing is tested on Windows."
		exit
	fi
done
from=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d)
export WINEPREFIX="$folder/wine" WINEDEBUG=-all DISPLAY= WINEDLLOVERRIDES="mscoree=d;mshtml=d"
trap 'wineserver -k >/dev/null 2>&1 || true; wineserver -w >/dev/null 2>&1 || true; rm -rf "$folder"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

wine wineboot -i >"$folder/log" 2>&1 || { cat "$folder/log"; exit 1; }
x86_64-w64-mingw32-gcc -shared -O2 -s -o "$WINEPREFIX/drive_c/windows/system32/bcryptprimitives.dll" "$from/prng.c" -ladvapi32

file=$($go env GOROOT)/src/internal/syscall/windows/at_windows.go
sed 's/^\t\tSTATUS_NOT_SUPPORTED: .*/\t\tNTStatus(0xC0000002), STATUS_NOT_SUPPORTED:/' "$file" >"$folder/at_windows.go"
printf '{"Replace": {"%s": "%s"}}\n' "$file" "$folder/at_windows.go" >"$folder/overlay.json"

# Wine starts its services with the first program that finds none, and they keep what that program writes to: a pipe of
# go test would stay open, for which it waits, so that it is a file instead.
cat >"$folder/exec" <<'END'
#!/bin/sh
out=$(mktemp)
wine "$@" >"$out" 2>&1 && status=0 || status=$?
cat "$out"
rm -f "$out"
exit $status
END
chmod +x "$folder/exec"

export CGO_ENABLED=0
tests() {
	GOOS=windows GOARCH=amd64 $go test -overlay "$folder/overlay.json" -exec "$folder/exec" -vet=off -skip "$links" "$@"
}
if [ $# -gt 0 ]; then
	tests "$@"
	exit
fi

tests -short -timeout 20m ./internal/dataset ./internal/fasthash ./internal/hamming ./internal/index ./internal/cli ./internal/items ./internal/plain \
	./internal/section ./internal/model ./internal/store ./internal/vectors

# The session, once here and once under wine.
$go build -o "$folder/here" ./cmd/hashgrove
GOOS=windows GOARCH=amd64 $go build -overlay "$folder/overlay.json" -o "$folder/hashgrove.exe" ./cmd/hashgrove
run() {
	echo "the program on $2"
	sh -e "$from/session.sh" "$1" "$folder/$2" >"$folder/log" 2>&1 || { cat "$folder/log"; exit 1; }
}
run "$folder/here" linux
run "wine $folder/hashgrove.exe" windows
rm -f "$folder/linux/NUL"
for name in some.hgm more.hgc answers.csv; do
	cmp "$folder/linux/$name" "$folder/windows/$name"
done
if [ "$(ls "$folder/linux")" != "$(ls "$folder/windows")" ]; then
	echo "files were left behind:" && ls "$folder/windows"
	exit 1
fi
