"""Vectors of text with unequal classes, from the descriptions of Debian's packages: TF-IDF, then a truncated SVD.

    python3 x/bench/text.py FOLDER

reads `apt-cache dumpavail`, takes the one-line description of every package as the text and its section as the class
(sections of fewer than 100 descriptions and repeated descriptions are left out), and writes text.npy and text.txt to FOLDER, in a
shuffled order: 256 dimensions, the SVD learned from all texts without their classes. Needs Debian's python3-sklearn.
"""

import subprocess
import sys

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer


def main():
    folder = sys.argv[1]
    available = subprocess.run(["apt-cache", "dumpavail"], check=True, capture_output=True, text=True).stdout
    sections = {}
    for package in available.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in package.split("\n") if ": " in line and line[0] != " ")
        if "Section" in fields and "Description" in fields:
            sections.setdefault(fields["Description"], fields["Section"].split("/")[-1])
    pairs = sorted(sections.items())
    names, counts = np.unique([s for _, s in pairs], return_counts=True)
    often = set(names[counts >= 100])
    pairs = [p for p in pairs if p[1] in often]
    order = np.random.default_rng(1).permutation(len(pairs))
    pairs = [pairs[i] for i in order]
    counted = TfidfVectorizer(sublinear_tf=True, min_df=3, stop_words="english").fit_transform([d for d, _ in pairs])
    vectors = TruncatedSVD(256, random_state=1).fit_transform(counted).astype(np.float32)
    kept = np.linalg.norm(vectors, axis=1) > 1e-6  # texts of rare words alone have no vector
    vectors, pairs = vectors[kept], [p for p, k in zip(pairs, kept) if k]
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    np.save(folder + "/text.npy", vectors)
    with open(folder + "/text.txt", "w") as out:
        out.writelines(section + "\n" for _, section in pairs)
    print(len(pairs), "texts in", len(often), "sections")


main()
