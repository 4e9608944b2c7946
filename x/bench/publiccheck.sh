#!/usr/bin/env bash
# The public check of the codebook features: Coates and Ng (ICML 2011) report that 1,600 words, both signs of a response
# apart, sums over quadrants and a linear classifier get 79 to 80 % of CIFAR-10's test pictures right. Prints our share.
# The classifier that counts is the L2-SVM of their demo (linear_svm.py). Our own logistic one is shown beside it: it takes few
# steps over wide data, so that it is ready when the methods are that it is compared with, and falls short of the SVM. Needs
# CIFAR-10 (binary version) in the folder CIFAR10, 5 GB in the scratch folder, 8 GB of memory, and Debian's python3-scipy.
#
#	x/bench/publiccheck.sh                        all 50,000 pictures, 1,600 words
#	PICTURES=10000 WORDS=400 x/bench/publiccheck.sh
#	FLAGS="--patch 8 --normalise l1" x/bench/publiccheck.sh
set -euo pipefail
cd "$(dirname "$0")/../.."
cifar=${CIFAR10:-${XDG_CACHE_HOME:-$HOME/.cache}/hashgrove/cifar10}
scratch=${HASHGROVE_SCRATCH:-${TMPDIR:-/tmp}/hashgrove-publiccheck}
pictures=${PICTURES:-50000} words=${WORDS:-1600} flags=${FLAGS:---patch 6 --normalise none}
[ -n "${HG:-}" ] || { make --silent build; HG=bin/hashgrove; }
mkdir -p "$scratch"
head -c $((pictures * 3073)) < <(cat "$cifar"/data_batch_[1-5].bin) >"$scratch/train.bin" || true
cp "$cifar/test_batch.bin" "$scratch/test.bin" # both without the file of names, so that classes are numbers
timed() { (
	TIMEFORMAT="$1: %R s"
	shift
	time "$@" --quiet >/dev/null
); }

# Levels 1 and 2 of the pyramid are the whole and its quadrants; the whole is their sum, which tells a linear classifier
# nothing new. Bytes are the 256 bins of each value over the range that the training pictures have.
# shellcheck disable=SC2086
timed "learning $words words, $pictures pictures" "$HG" features "$scratch/train.bin" --kind codebook --words "$words" $flags \
	--sides split --levels 2 --type uint8 --save "$scratch/words.hgf" --force -o "$scratch/train.npy"
timed "10,000 test pictures" "$HG" features "$scratch/test.bin" --use "$scratch/words.hgf" --type uint8 --force -o "$scratch/test.npy"
/usr/bin/python3 x/bench/linear_svm.py "$scratch"
timed "our classifier" "$HG" train "$scratch/train.npy" --labels "$scratch/train.labels.txt" --method classifier-onehot \
	--standardize "${STANDARDIZE:-on}" --validation 0 --force -o "$scratch/classifier.hgm"
for part in train test; do
	"$HG" encode -m "$scratch/classifier.hgm" "$scratch/$part.npy" --to hex --force -o "$scratch/$part.hex" --quiet >/dev/null
done
python3 - "$scratch" <<'PYTHON'
import collections, sys

def rows(part):
    read = lambda end: open(f"{sys.argv[1]}/{part}.{end}").read().split()
    return list(zip(read("hex"), read("labels.txt")))

# A code is one class: the one that most training pictures of the code have.
seen = collections.defaultdict(collections.Counter)
for code, label in rows("train"):
    seen[code][label] += 1
classes = {code: labels.most_common(1)[0][0] for code, labels in seen.items()}
for part in "train", "test":
    pairs = rows(part)
    right = sum(classes.get(code) == label for code, label in pairs)
    print(f"our classifier, {part}: {right} of {len(pairs)} right, {100 * right / len(pairs):.2f} %")
PYTHON
