#!/usr/bin/env python3
"""Measures "hashgrove search --rerank" for several shortlists: how many of the ten nearest vectors are found, how many of
the ten hits have the label of the query, how many items were compared, and how much processor time it takes, reading and
all.

    hashgrove index build ITEMS.npy --labels ITEMS.txt -m MODEL -o INDEX
    python3 rerank.py INDEX QUERIES.npy QUERIES.txt ITEMS.npy 10 100 1000 3000 1/2 2/3
"""
import json
import os
import resource
import subprocess
import sys

index, queries, labels, items = sys.argv[1:5]
hashgrove = os.environ.get("HASHGROVE", "hashgrove")


def used():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def search(*flags):
    began = used()
    out = subprocess.run([hashgrove, "search", index, queries, "--labels", labels, "--to", "jsonl", "--quiet", *flags],
                         check=True, capture_output=True, text=True).stdout
    return [json.loads(line) for line in out.splitlines()], used() - began


def ids(answer):
    return {hit["id"] for hit in answer["hits"]}


def row(name, answers, seconds, nearest):
    n = len(answers)
    recall = sum(len(ids(a) & ids(b)) for a, b in zip(answers, nearest)) / (10 * n)
    right = sum(hit["label"] == a["label"] for a in answers for hit in a["hits"]) / (10 * n)
    compared = sum(a.get("compared", 0) for a in answers) / n
    print(f"| {name} | {compared:,.0f} | {recall:.3f} | {right:.3f} | {1000 * seconds / n:.1f} |", flush=True)


all_items, seconds = search("--rerank", items, "--shortlist", "2000000000")
total = all_items[0]["compared"]
print(f"{total:,} items, {len(all_items)} queries")
print("| shortlist | items compared | recall@10 of the nearest vectors | hits with the query's label | ms of processor time per query |")
print("|---|---|---|---|---|")
row("codes alone", *search(), all_items)
for size in sys.argv[5:]:
    share = size.split("/")
    number = size if len(share) == 1 else str(total * int(share[0]) // int(share[1]))
    row(size, *search("--rerank", items, "--shortlist", number), all_items)
row("default", *search("--rerank", items), all_items)
row("all", all_items, seconds, all_items)
