#!/bin/sh
# Push rates of docs/results/search.md: 100,000 items with codes of 64 bits, a label, two tags and a price, into a new table of
# each server that is named by its URL, with the defaults of push. Passwords come from the environment. With CHECK=1 the
# answers are compared with those of the index.
#
#	sh x/bench/engines.sh postgres://user@/database?host=/folder
set -eu
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go build -o "$work/hashgrove" ./cmd/hashgrove
awk 'BEGIN { srand(1); for (i = 0; i < 100000; i++) {
	k = i % 20; printf "{\"id\": \"item-%d\", \"label\": \"kind %d\", \"tags\": [\"t%d\", \"u%d\"], \"price\": %d, \"vector\": [", i, k, i % 7, i % 11, i % 500
	for (j = 0; j < 16; j++) printf "%s%.4f", j ? "," : "", rand() + (j == k % 16) + (j == int(k / 2)) / 2
	print "]}" } }' >"$work/items.jsonl"
cd "$work"
./hashgrove train items.jsonl --label label --id-column id --vector vector --bits 64 --effort quick --quiet -o m.hgm >/dev/null
./hashgrove index build -o items.hgi items.jsonl --label label --id-column id --tags tags --vector vector \
	--attribute-columns price -m m.hgm --quiet
for url in "$@"; do
	case $url in *" "*) flags=${url#* } ;; *) flags= ;; esac # "URL --pgvector"
	echo "$url"
	./hashgrove push items.hgi --engine "${url%% *}" --table "rates$$" $flags
	if [ "${CHECK:-}" = 1 ]; then
		./hashgrove check-engine items.hgi --engine "${url%% *}" --table "rates$$" $flags --quiet || true
	fi
done
