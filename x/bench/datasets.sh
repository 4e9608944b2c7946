#!/bin/sh
# All methods on every data set at hand, judged by new and by learned items.
#
#   x/bench/datasets.sh FOLDER [NAME...]     about an hour on two cores; NAME is a section, such as wine
#   METHODS=fasthash,ksh x/bench/datasets.sh FOLDER     only these methods
#
# FOLDER holds cifar10/data_batch_1.bin, cifar10/test_batch.bin and iaprtc12 (as for "go run ./paper"); it keeps the
# vectors made of them and all results. Fashion-MNIST and the four small sets come from the Debian packages
# dataset-fashion-mnist and python3-sklearn. A section whose data are missing is left out, and a line says so.
set -eu
cd "$(dirname "$0")/../.."
folder=${1:?the folder with the data}
shift
python=${PYTHON:-/usr/bin/python3}
fashion=${FASHION:-/usr/share/datasets/fashion-mnist}
go build -o "$folder/hashgrove" ./cmd/hashgrove
cd "$folder"

"$python" - "$fashion" <<'PYTHON'
# The vectors and labels of every set, made once: small classics as CSV, Fashion-MNIST and IAPR TC-12 as arrays.
import csv, gzip, os, sys
import numpy as np

def small(name, load):
    d = load()
    columns = [str(c).replace(" ", "_") for c in getattr(d, "feature_names", range(d.data.shape[1]))]
    with open(name + ".csv", "w", newline="") as f:
        w = csv.writer(f)
        w.writerow(columns + ["class"])
        w.writerows([repr(float(v)) for v in x] + [d.target_names[y]] for x, y in zip(d.data, d.target))

try:
    from sklearn import datasets
    for name, load in (("digits", datasets.load_digits), ("wine", datasets.load_wine),
                       ("cancer", datasets.load_breast_cancer), ("iris", datasets.load_iris)):
        if not os.path.exists(name + ".csv"):
            small(name, load)
except ImportError:
    print("no scikit-learn: the small sets are left out", file=sys.stderr)

def idx(path, head):
    return np.frombuffer(gzip.open(path).read(), np.uint8, offset=head)

if os.path.isdir(sys.argv[1]) and not os.path.exists("fashion.npy"):
    for part, name, rows in (("fashion", "train", 20000), ("fashion-queries", "t10k", 2000)):
        x = idx(f"{sys.argv[1]}/{name}-images-idx3-ubyte.gz", 16).reshape(-1, 784)[:rows]
        np.save(part + ".npy", x)
        y = idx(f"{sys.argv[1]}/{name}-labels-idx1-ubyte.gz", 8)[:rows]
        open(part + ".txt", "w").write("".join(f"{v}\n" for v in y))
PYTHON

# features DATA OUT makes vectors of pictures once.
features() {
	[ -e "$2.npy" ] || ./hashgrove features "$1" --kind gist320 -o "$2.npy" --quiet >&2
}
if [ -e cifar10/data_batch_1.bin ]; then
	cp cifar10/data_batch_1.bin cifar-10000.bin # beside batches.meta.txt it would have names of classes, and others not
	head -c $((2000 * 3073)) cifar10/test_batch.bin >cifar-queries.bin
	features cifar-10000.bin cifar-gist
	features cifar-queries.bin cifar-gist-queries
fi
if [ -d iaprtc12/images ] && [ ! -e iapr.npy ]; then
	tr ' ' ';' <iaprtc12/labels.txt | paste -d, iaprtc12/ids.txt - | sed 's/,/.jpg,/' >iapr-tagged.txt
	./hashgrove features iaprtc12/images --size 64 --kind gist320 --tags iapr-tagged.txt -o iapr-all.npy --quiet >&2
	"$python" - <<'PYTHON'
import os
import numpy as np
ids = open("iaprtc12/ids.txt").read().split()
part = dict(zip((i + ".jpg" for i in ids), open("iaprtc12/split.txt").read().split()))
names = [os.path.basename(n) for n in open("iapr-all.ids.txt").read().split()]
tags, x = open("iapr-all.tags.txt").read().split("\n"), np.load("iapr-all.npy")
for out, want in (("iapr", "train"), ("iapr-queries", "test")):
    rows = [i for i, n in enumerate(names) if part[n] == want]
    np.save(out + ".npy", x[rows])
    open(out + ".tags.txt", "w").write("".join(tags[i] + "\n" for i in rows))
PYTHON
fi

# section NAME TITLE DATA FLAGS... compares and prints the table of the page.
section() {
	name=$1 title=$2 data=$3
	shift 3
	case " $only " in "  " | *" $name "*) ;; *) return 0 ;; esac
	if [ ! -e "$data" ]; then
		echo "$name is left out: there is no $data" >&2
		return 0
	fi
	./hashgrove compare "$data" "$@" --methods "${METHODS:-all}" --unseen -1 --json >"$name.json"
	"$python" - "$name.json" "$title" <<'PYTHON'
import json, sys
r = json.load(open(sys.argv[1]))
d = r["data"]
print(f"## {sys.argv[2]}\n")
print(f"{d['learned']:,} rows learned, {d['new']:,} new items, {d['queries']:,} queries, {d['dim']:,} dimensions, "
      f"{r['scale'] if r.get('scale') else 'columns as they are'}.\n")
print("| method | bits | MAP, new: Hamming | as it ranks | ranking | nearest of its class | MAP, learned | codes, new | train s |")
print("|---|---|---|---|---|---|---|---|---|")
for row in sorted(r["rows"], key=lambda v: -v["map"]):
    if row.get("error"):
        print(f"| {row['method']} | {row['bits']} | failed: {row['error']} |")
        continue
    best, learned = row.get("ranked", row), row["learned_items"]
    bold = "**" if row["recommended"] else ""
    bits = f"{row['bits']} + {row['detail_bits']}" if row.get("detail_bits") else row["bits"]
    print(f"| {bold}{row['method']}{bold} | {bits} | {row['map']:.3f} | {best['map']:.3f} | {row.get('rank', '-')} "
          f"| {best.get('nearest_of_class_10', 0):.3f} | {learned.get('ranked', learned)['map']:.3f} | {row['distinct_codes']:,} "
          f"| {row['train_seconds']:.1f} |")
print()
PYTHON
}
only=$*
section iris "Iris" iris.csv --label class --bits 16
section wine "Wine" wine.csv --label class --bits 16
section cancer "Breast cancer" cancer.csv --label class --bits 16
section digits "Digits" digits.csv --label class --bits 32
section cifar-gist "CIFAR-10, GIST" cifar-gist.npy --labels cifar-gist.labels.txt \
	--queries cifar-gist-queries.npy --queries-labels cifar-gist-queries.labels.txt --bits 64
section iapr "IAPR TC-12, GIST" iapr.npy --tags iapr.tags.txt \
	--queries iapr-queries.npy --queries-tags iapr-queries.tags.txt --bits 64
section fashion "Fashion-MNIST, pixels" fashion.npy --labels fashion.txt \
	--queries fashion-queries.npy --queries-labels fashion-queries.txt --bits 64
