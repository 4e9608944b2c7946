package main

import (
	"bytes"
	"crypto/md5"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"hashgrove/internal/gpu"
)

// A package for Debian is an ar archive of three files: the version of the format, an archive that says what the
// package is, and an archive of the files as they will lie below the root (deb(5)). It needs nothing else, since the
// binary is static, and has no scripts, so that removing it leaves nothing.

// defaultMaintainer has an address that is sure not to exist, until whoever makes a release gives one.
const defaultMaintainer = "The Hashgrove authors <authors@hashgrove.invalid>"

// debianVersion turns a version into Debian's form, where ~ sorts before the release itself.
func debianVersion(version string) string { return strings.ReplaceAll(version, "-", "~") }

// debianPackage packs the files of an archive into a package.
func (r *release) debianPackage(arch string, content []file) ([]byte, error) {
	files, err := r.debianFiles(content)
	if err != nil {
		return nil, err
	}
	size := 0
	var sums strings.Builder
	for _, f := range withFolders(".", files) {
		if strings.HasSuffix(f.name, "/") {
			size++
			continue
		}
		size += (len(f.data) + 1023) / 1024
		fmt.Fprintf(&sums, "%x  %s\n", md5.Sum(f.data), strings.TrimPrefix(f.name, "./"))
	}
	about := fmt.Sprintf(`Package: hashgrove
Version: %s
Architecture: %s
Maintainer: %s
Installed-Size: %d
Section: science
Priority: optional
Suggests: ocl-icd-libopencl1
Description: learn short binary codes from labelled vectors and search with them
 Hashgrove learns binary codes from labelled vectors or pictures with boosted
 decision trees (FastHash), so that similar items get similar codes. It encodes
 new items, searches millions of codes exactly, measures how good the codes are,
 and serves searches over HTTP.
`, debianVersion(r.version), arch, r.maintainer, size)
	control, err := tarGz(".", []file{
		{"control", 0o644, []byte(about)}, {"md5sums", 0o644, []byte(sums.String())},
	}, r.date)
	if err != nil {
		return nil, err
	}
	data, err := tarGz(".", files, r.date)
	if err != nil {
		return nil, err
	}
	return arArchive(r.date, []file{
		{"debian-binary", 0o644, []byte("2.0\n")}, {"control.tar.gz", 0o644, control}, {"data.tar.gz", 0o644, data},
	}), nil
}

// debianFiles puts the files of an archive where Debian wants them.
func (r *release) debianFiles(content []file) ([]file, error) {
	places := map[string]string{
		"hashgrove":                  "usr/bin/hashgrove",
		gpu.Program:                  "usr/bin/" + gpu.Program,
		"examples/hashgrove.service": "usr/share/doc/hashgrove/examples/hashgrove.service",
		"THIRD-PARTY.txt":            "usr/share/doc/hashgrove/THIRD-PARTY.txt.gz",
		"completions/hashgrove.bash": "usr/share/bash-completion/completions/hashgrove",
		"completions/hashgrove.fish": "usr/share/fish/vendor_completions.d/hashgrove.fish",
		"completions/_hashgrove":     "usr/share/zsh/vendor-completions/_hashgrove",
	}
	var list []file
	add := func(name string, mode fs.FileMode, data []byte) error {
		var err error
		if strings.HasSuffix(name, ".gz") {
			data, err = gzipped(data)
		}
		list = append(list, file{name, mode, data})
		return err
	}
	var licence string
	for _, f := range content {
		to, data := places[f.name], f.data
		switch {
		case f.name == "LICENSE":
			licence = string(f.data) // is in the file copyright
			continue
		case f.name == "completions/hashgrove.ps1":
			continue // for Windows
		case path.Dir(f.name) == "man/man1":
			to = "usr/share/" + f.name + ".gz"
		case strings.HasPrefix(f.name, "examples/"):
			data = bytes.ReplaceAll(data, []byte("/usr/local/bin/"), []byte("/usr/bin/"))
		case to == "":
			return nil, fmt.Errorf("nobody said where %s goes in a package", f.name)
		}
		if err := add(to, f.mode, data); err != nil {
			return nil, err
		}
	}
	changes := fmt.Sprintf("hashgrove (%s) unstable; urgency=medium\n\n  * Release %s.\n\n -- %s  %s\n",
		debianVersion(r.version), r.version, r.maintainer, r.date.Format(time.RFC1123Z))
	if err := add("usr/share/doc/hashgrove/changelog.gz", 0o644, []byte(changes)); err != nil {
		return nil, err
	}
	if err := add("usr/share/doc/hashgrove/copyright", 0o644, debianCopyright(licence, r.parts)); err != nil {
		return nil, err
	}
	reason := "# Go programs are, so that one package serves every release of Debian.\n" +
		"hashgrove: statically-linked-binary [usr/bin/hashgrove]\n"
	if err := add("usr/share/lintian/overrides/hashgrove", 0o644, []byte(reason)); err != nil {
		return nil, err
	}
	return list, nil
}

// debianCopyright is the licences in Debian's form. Texts with Apache's, which is a file of every Debian system, are
// only in THIRD-PARTY.txt.gz.
func debianCopyright(licence string, parts []part) []byte {
	var b strings.Builder
	b.WriteString("Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n" +
		"Upstream-Name: hashgrove\n" +
		"Comment: The binary contains the modules below; THIRD-PARTY.txt.gz beside this file\n" +
		" has their licences as they are in their folders.\n")
	field := func(text string) {
		for line := range strings.Lines(text) {
			if line = strings.TrimRight(line, " \t\r\n"); line == "" {
				line = "."
			}
			b.WriteString(" " + line + "\n")
		}
	}
	fmt.Fprintf(&b, "\nFiles: *\nCopyright: %s\nLicense: Expat\n", strings.Join(copyrightLines(licence), "\n "))
	field(licence)
	for _, p := range parts {
		name := strings.ReplaceAll(p.expression(), "MIT", "Expat")
		fmt.Fprintf(&b, "\nFiles: %s\nCopyright: %s\nLicense: %s\n", strings.TrimSpace(p.name+"/*"),
			strings.Join(p.holders(), "\n "), strings.ReplaceAll(name, " AND ", " and "))
		for _, t := range p.texts {
			kinds, err := recogniseKinds(t.text)
			if err == nil && slices.Contains(kinds, "Apache-2.0") {
				field("The text is in THIRD-PARTY.txt.gz beside this file; on Debian systems the Apache License\n" +
					"2.0 is also in /usr/share/common-licenses/Apache-2.0.\n")
			} else {
				field(t.text)
			}
		}
	}
	return []byte(b.String())
}

// arArchive packs files as the program ar does: a line of 60 characters before each, and an even size.
func arArchive(date time.Time, files []file) []byte {
	b := bytes.NewBufferString("!<arch>\n")
	for _, f := range files {
		fmt.Fprintf(b, "%-16s%-12d%-6d%-6d%-8o%-10d`\n", f.name, date.Unix(), 0, 0, 0o100000|f.mode, len(f.data))
		b.Write(f.data)
		if len(f.data)%2 == 1 {
			b.WriteByte('\n')
		}
	}
	return b.Bytes()
}
