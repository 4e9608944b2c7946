package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// A wheel is a zip that pip unpacks: the package for Python with the programs inside, and what pip asks about it. The
// format is that of the Python Packaging User Guide, "Binary distribution format", version 1.0.

// wheelTags says what a wheel runs on. The command for Linux is static, so that every libc will do; where hashgrove-gpu
// does not start, the command does without. That for macOS needs what Go needs.
var wheelTags = map[platform]string{
	{"linux", "amd64"}:   "manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64",
	{"linux", "arm64"}:   "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64",
	{"darwin", "amd64"}:  "macosx_12_0_x86_64",
	{"darwin", "arm64"}:  "macosx_12_0_arm64",
	{"windows", "amd64"}: "win_amd64",
	{"windows", "arm64"}: "win_arm64",
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

// wheel packs the Python package and the command for a platform.
func (r *release) wheel(binary string, p platform) ([]byte, error) {
	list, err := r.pythonPackage()
	if err != nil {
		return nil, err
	}
	commands, err := programs(binary, p, "hashgrove/bin/")
	if err != nil {
		return nil, err
	}
	licence, err := os.ReadFile(filepath.Join(r.root, "LICENSE"))
	if err != nil {
		return nil, err
	}
	info := fmt.Sprintf("hashgrove-%s.dist-info/", pythonVersion(r.version))
	const about = "Wheel-Version: 1.0\nGenerator: hashgrove\nRoot-Is-Purelib: false\n"
	var tags strings.Builder
	for tag := range strings.SplitSeq(wheelTags[p], ".") {
		fmt.Fprintf(&tags, "Tag: py3-none-%s\n", tag)
	}
	list = append(append(list, commands...),
		file{info + "METADATA", 0o644, []byte(r.metadata())},
		file{info + "WHEEL", 0o644, []byte(about + tags.String())},
		file{info + "entry_points.txt", 0o644, []byte("[console_scripts]\nhashgrove = hashgrove.__main__:main\n")},
		file{info + "licenses/LICENSE", 0o644, licence},
		file{info + "licenses/THIRD-PARTY.txt", 0o644, thirdParty(r.parts)},
	)
	slices.SortFunc(list, func(a, b file) int { return strings.Compare(a.name, b.name) })
	return zipWheel(append(list, file{info + "RECORD", 0o644, record(list, info+"RECORD")}), r.date)
}

// pythonPackage is the files of the package in the source.
func (r *release) pythonPackage() ([]file, error) {
	from := filepath.Join(r.root, "client", "python")
	var list []file
	err := filepath.WalkDir(filepath.Join(from, "hashgrove"), func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".py") && d.Name() != "py.typed" {
			return err
		}
		b, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		short, err := filepath.Rel(from, name)
		list = append(list, file{filepath.ToSlash(short), 0o644, b})
		return err
	})
	return list, err
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

// record lists the files with their hashes and sizes, and itself without.
func record(list []file, own string) []byte {
	var b bytes.Buffer
	for _, f := range list {
		sum := sha256.Sum256(f.data)
		fmt.Fprintf(&b, "%s,sha256=%s,%d\n", f.name, base64.RawURLEncoding.EncodeToString(sum[:]), len(f.data))
	}
	fmt.Fprintf(&b, "%s,,\n", own)
	return b.Bytes()
}

// zipWheel packs files without folders, in their order and with one date; what a zip cannot date is of its first day.
func zipWheel(list []file, date time.Time) ([]byte, error) {
	if first := time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC); date.Before(first) {
		date = first
	}
	return zipFiles(list, date)
}
