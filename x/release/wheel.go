package main

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
)

// A wheel is a zip that pip unpacks: the package for Python with the programs inside, and what pip asks about it. The
// format is that of the Python Packaging User Guide, "Binary distribution format", version 1.0.

// wheelTags says what a wheel runs on. The command for Linux is static, so that every libc will do; where hashgrove-gpu
// does not start, the command does without. That for macOS needs what Go needs.
var wheelTags = map[platform]string{
	"linux/amd64":   "manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64",
	"linux/arm64":   "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64",
	"darwin/amd64":  "macosx_12_0_x86_64",
	"darwin/arm64":  "macosx_12_0_arm64",
	"windows/amd64": "win_amd64",
	"windows/arm64": "win_arm64",
}

var preRelease = regexp.MustCompile(`^-(rc|alpha|beta)\.?([0-9]+)$`)

// pythonVersion spells a version as Python does: 0.1.0, 0.1.0rc1, 0.1.0.dev20261118+commit. What has no such spelling
// becomes a local version, which is that of the source with a remark.
func pythonVersion(version string) string {
	at := strings.IndexAny(version, "-+")
	if at < 0 {
		return version
	}
	base, rest := version[:at], version[at:]
	if m := preRelease.FindStringSubmatch(rest); m != nil {
		return base + map[string]string{"rc": "rc", "alpha": "a", "beta": "b"}[m[1]] + m[2]
	}
	if dev, ok := strings.CutPrefix(rest, "-dev."); ok {
		number, local, _ := strings.Cut(dev, "+")
		if local != "" {
			local = "+" + localVersion(local)
		}
		return base + ".dev" + number + local
	}
	return base + "+" + localVersion(rest[1:])
}

var notLocal = regexp.MustCompile(`[^a-z0-9]+`)

func localVersion(text string) string {
	return strings.Trim(notLocal.ReplaceAllString(strings.ToLower(text), "."), ".")
}

// wheelName is the name of the file for a platform.
func (r *release) wheelName(p platform) string {
	return fmt.Sprintf("hashgrove-%s-py3-none-%s.whl", pythonVersion(r.version), wheelTags[p])
}

// fillWheel fills a folder with what a wheel contains: the Python package, the programs, and what pip asks about them.
func (r *release) fillWheel(p platform, programs, folder string) error {
	for from, to := range map[string]string{
		filepath.Join(r.root, "client", "python", "hashgrove", "*.py"):     "hashgrove",
		filepath.Join(r.root, "client", "python", "hashgrove", "py.typed"): "hashgrove",
		filepath.Join(programs, "hashgrove*"):                              "hashgrove/bin",
	} {
		names, err := filepath.Glob(from)
		if err != nil {
			return err
		}
		for _, name := range names {
			if err := copyFile(name, filepath.Join(folder, to, filepath.Base(name))); err != nil {
				return err
			}
		}
	}
	info := "hashgrove-" + pythonVersion(r.version) + ".dist-info"
	if err := r.writeLicences(filepath.Join(folder, info, "licenses")); err != nil {
		return err
	}
	var tags strings.Builder
	for tag := range strings.SplitSeq(wheelTags[p], ".") {
		fmt.Fprintf(&tags, "Tag: py3-none-%s\n", tag)
	}
	for name, text := range map[string]string{
		"METADATA":         r.metadata(),
		"WHEEL":            "Wheel-Version: 1.0\nGenerator: hashgrove\nRoot-Is-Purelib: false\n" + tags.String(),
		"entry_points.txt": "[console_scripts]\nhashgrove = hashgrove.__main__:main\n",
	} {
		if err := writeFile(filepath.Join(folder, info, name), []byte(text)); err != nil {
			return err
		}
	}
	// The record lists the files with their hashes and sizes, and itself without.
	var record strings.Builder
	err := eachFile(folder, func(name string, data []byte) {
		sum := sha256.Sum256(data)
		fmt.Fprintf(&record, "%s,sha256=%s,%d\n", name, base64.RawURLEncoding.EncodeToString(sum[:]), len(data))
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(&record, "%s/RECORD,,\n", info)
	return writeFile(filepath.Join(folder, info, "RECORD"), []byte(record.String()))
}

// metadata is what pip shows and follows.
func (r *release) metadata() string {
	return strings.Join([]string{
		"Metadata-Version: 2.1", "Name: hashgrove", "Version: " + pythonVersion(r.version),
		"Summary: Learn short binary codes from labelled vectors and find the nearest codes exactly",
		"License: MIT", "License-File: LICENSE", "License-File: THIRD-PARTY.txt", "Requires-Python: >=3.9",
		"Requires-Dist: numpy", "Requires-Dist: scikit-learn; extra == 'sklearn'", "Provides-Extra: sklearn",
		"Classifier: Programming Language :: Python :: 3", "Classifier: Typing :: Typed",
		"Description-Content-Type: text/markdown", "",
		"Hashgrove learns short binary codes from labelled vectors and finds the nearest codes exactly.", "",
		"```python", "from hashgrove import FastHash, Index", "hasher = FastHash(bits=64).fit(X, y)",
		"index = Index(hasher)", "```", "",
	}, "\n")
}
