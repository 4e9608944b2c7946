#!/bin/sh
# Learned and new items: models of one half of the demo's pictures, judged by searching that half and the other one.
#
#   x/bench/newitems.sh               a folder in $TMPDIR, a few minutes
set -eu
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go build -o "$work/hashgrove" ./cmd/hashgrove
cd "$work"
./hashgrove demo --bits 8 -o . --quiet >/dev/null
"${PYTHON:-python3}" - <<'PYTHON'
import gzip, struct
for name, head, size in (("images-idx3", 16, 784), ("labels-idx1", 8, 1)):
    raw = gzip.open(f"train-{name}-ubyte.gz").read()
    half = (len(raw) - head) // size // 2
    for part, first in (("learned", 0), ("new", half)):
        with gzip.open(f"{part}-{name}-ubyte.gz", "wb") as f:
            f.write(raw[:4] + struct.pack(">I", half) + raw[8:head] + raw[head + first * size :][: half * size])
PYTHON

# judge MODEL [FLAGS] prints MAP, precision@100 and distinct codes for both bases.
judge() {
	for base in learned new; do
		./hashgrove eval -m "$@" --base "$base-images-idx3-ubyte.gz" --queries query-images-idx3-ubyte.gz --quiet |
			grep -E '^. (MAP|precision@100|distinct codes) ' | sed "s/^/$base /"
	done
}
train() { ./hashgrove train learned-images-idx3-ubyte.gz --bits 64 --validation 0 --force -o model.hgm --quiet "$@" | tail -n 1; }

echo "200 trees of depth 4"
train
for bits in 8 16 32 64; do
	echo "first $bits bits"
	judge model.hgm --prefix "$bits"
done
for flags in "--rounds 50" "--rounds 800" "--depth 2" "--depth 3" "--depth 6" "--method cca-itq" "--method sdh" "--method ksh"; do
	echo "$flags"
	train $flags
	judge model.hgm
done
