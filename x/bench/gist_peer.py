"""GIST-320 with numpy and scipy.fft on one core: the peer that feature.GIST is measured against.

    go test -run '^$' -bench GIST -cpu 1 ./internal/feature
    OMP_NUM_THREADS=1 python3 x/bench/gist_peer.py data_batch_1.bin 400 [out.npy]

The second line reads the first pictures of a CIFAR-10 binary file and prints the microseconds of processor time per picture, in single
precision and in double precision. The computation is the one of internal/feature/gist.go, written the way one writes it with
numpy: whole batches, transforms by scipy.fft. With a third argument the vectors (from double precision) are saved, for a
comparison of the values.
"""

import sys
import time

import numpy as np
from scipy import fft

ORIENTATIONS, SIZE, BLOCKS, MARGIN, EXTENSION, BATCH = (8, 8, 4), 32, 4, 5, 32, 50


def frequencies(n):
    f = fft.fftfreq(n, 1 / n)
    return np.meshgrid(f, f)


def bank(n):
    fx, fy = frequencies(n)
    fr, t = np.hypot(fx, fy), np.angle(fx + 1j * fy)
    filters = []
    for i, count in enumerate(ORIENTATIONS):
        for j in range(count):
            tr = t + np.pi / count * j
            tr = tr + 2 * np.pi * (tr < -np.pi) - 2 * np.pi * (tr > np.pi)
            filters.append(np.exp(-3.5 * (fr / n / (0.3 / 1.85**i) - 1) ** 2 - 2 * np.pi * 16 * count**2 / 32**2 * tr**2))
    return filters


def gist(pictures, real, filters, low):
    img = pictures.mean(axis=1, dtype=real)
    img -= img.min(axis=(1, 2), keepdims=True)
    img *= 255 / img.max(axis=(1, 2), keepdims=True)
    img = np.log(img + 1)
    around = ((0, 0), (MARGIN, MARGIN), (MARGIN, MARGIN))
    img = np.pad(img, around, mode="symmetric")
    img = img - fft.ifft2(fft.fft2(img) * low).real
    std = np.sqrt(np.abs(fft.ifft2(fft.fft2(img**2) * low)))
    img = (img / (real(0.2) + std))[:, MARGIN:-MARGIN, MARGIN:-MARGIN]
    spectrum = fft.fft2(np.pad(img, ((0, 0), (EXTENSION, EXTENSION), (EXTENSION, EXTENSION)), mode="symmetric"))
    parts = []
    for g in filters:
        r = np.abs(fft.ifft2(spectrum * g))[:, EXTENSION:-EXTENSION, EXTENSION:-EXTENSION]
        side = SIZE // BLOCKS
        means = r.reshape(-1, BLOCKS, side, BLOCKS, side).mean(axis=(2, 4))
        parts.append(means.transpose(0, 2, 1).reshape(-1, BLOCKS * BLOCKS))
    return np.hstack(parts)


def main():
    count = int(sys.argv[2])
    raw = np.fromfile(sys.argv[1], np.uint8, count * 3073).reshape(-1, 3073)[:, 1:]
    pictures = raw.reshape(-1, 3, SIZE, SIZE)
    fx, fy = frequencies(SIZE + 2 * MARGIN)
    for real in (np.float32, np.float64):
        low = np.exp(-(fx**2 + fy**2) / (4 / np.sqrt(np.log(2))) ** 2).astype(real)
        filters = [g.astype(real) for g in bank(SIZE + 2 * EXTENSION)]
        gist(pictures[:BATCH], real, filters, low)
        start = time.process_time()
        out = [gist(pictures[i : i + BATCH], real, filters, low) for i in range(0, count, BATCH)]
        used = time.process_time() - start
        print(f"BenchmarkGISTPeer/numpy={real.__name__} {count} {used / count * 1e6:.1f} us/picture")
    if len(sys.argv) > 3:
        np.save(sys.argv[3], np.vstack(out))


if __name__ == "__main__":
    main()
