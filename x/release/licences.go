package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"hashgrove/internal/fault"
)

// part is a module inside the binary, the standard library, or data of others in a package of ours.
type part struct {
	name      string // path of the module, "Go" or the path of the package
	version   string // none for Go, whose version is the builder's, and for our packages
	platforms []platform
	kinds     []string // SPDX names
	copyright []string
	texts     []licenceText
}

// licenceText is a file with a licence, named from the folder of the part.
type licenceText struct{ name, text string }

// expression is the licences as SPDX writes them.
func (p part) expression() string { return strings.Join(p.kinds, " AND ") }

// standardLibrary is the name of the part that comes with the compiler.
const standardLibrary = "Go"

// listed is a package as "go list" tells of it.
type listed struct {
	ImportPath, Dir, Root string
	Standard              bool
	Module                *struct {
		Path, Version, Dir string
		Main               bool
	}
}

// linkedParts finds what the command contains on these platforms, with licences: those in the folder of each linked
// package and in the folders above it up to that of the module. A part without a licence, or with one that is not known
// or not allowed, is an error.
func linkedParts(root string, on []platform) ([]part, error) {
	found := map[string]*part{}
	files := map[string]map[string]string{} // of each part, by name
	for _, p := range on {
		packages, err := listPackages(root, p)
		if err != nil {
			return nil, err
		}
		for _, pkg := range packages {
			name, version, top := pkg.place()
			own, err := licenceFiles(pkg.Dir, top)
			if err != nil {
				return nil, err
			}
			if pkg.Module != nil && pkg.Module.Main { // only what others made and we embed
				delete(own, "LICENSE")
				if len(own) == 0 {
					continue
				}
			}
			if found[name] == nil {
				found[name], files[name] = &part{name: name, version: version}, map[string]string{}
			}
			maps.Copy(files[name], own)
			if !slices.Contains(found[name].platforms, p) {
				found[name].platforms = append(found[name].platforms, p)
			}
		}
	}
	var list []part
	var problems []error
	for name, p := range found {
		problems = append(problems, p.judge(files[name]))
		list = append(list, *p)
	}
	slices.SortFunc(list, func(a, b part) int { return cmp.Compare(strings.ToLower(a.name), strings.ToLower(b.name)) })
	return list, errors.Join(problems...)
}

// place names the part that a package belongs to, and the uppermost folder with its licences.
func (l *listed) place() (name, version, top string) {
	switch {
	case l.Standard:
		return standardLibrary, "", l.Root
	case l.Module.Main:
		return l.ImportPath, "", l.Module.Dir
	}
	return l.Module.Path, l.Module.Version, l.Module.Dir
}

func listPackages(root string, p platform) ([]listed, error) {
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Dir,Root,Standard,Module", "./cmd/hashgrove",
		"./cmd/hashgrove-gpu")
	cmd.Dir, cmd.Env = root, p.environment()
	var problem bytes.Buffer
	cmd.Stderr = &problem
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list for %s: %w\n%s", p, err, problem.Bytes())
	}
	var list []listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var l listed
		if err := d.Decode(&l); err == io.EOF {
			return list, nil
		} else if err != nil {
			return nil, err
		}
		list = append(list, l)
	}
}

// A file with one of these names is a licence, or belongs to one.
var (
	licenceName    = regexp.MustCompile(`(?i)^(licen[cs]e|copying|unlicense)([-._].*)?$`)
	supplementName = regexp.MustCompile(`(?i)^(notice|patents|copyright)([-._].*)?$`)
	othersName     = regexp.MustCompile(`(?i)^third[-_]?party[-_]?licen[cs]es$`) // a folder
)

// unused is a licence of object files in the folder of a linked package that only another build of Go links; the text
// says so itself. Releases are built without GOEXPERIMENT.
const unused = "src/crypto/internal/boring/LICENSE"

// licenceFiles reads the licences in a folder and in those above it, up to the top.
func licenceFiles(dir, top string) (map[string]string, error) {
	found := map[string]string{}
	for {
		names, err := os.ReadDir(dir)
		if err != nil {
			return nil, err
		}
		for _, d := range names {
			var in []string
			switch {
			case d.IsDir() && othersName.MatchString(d.Name()):
				if in, err = filepath.Glob(filepath.Join(dir, d.Name(), "*")); err != nil {
					return nil, err
				}
			case d.Type().IsRegular() && path.Ext(d.Name()) != ".go" &&
				(licenceName.MatchString(d.Name()) || supplementName.MatchString(d.Name())):
				in = []string{filepath.Join(dir, d.Name())}
			}
			for _, name := range in {
				b, err := os.ReadFile(name)
				if err != nil {
					return nil, err
				}
				short, err := filepath.Rel(top, name)
				if err != nil {
					return nil, err
				}
				if short = filepath.ToSlash(short); short != unused {
					found[short] = string(b)
				}
			}
		}
		up := filepath.Dir(dir)
		if dir == top || up == dir {
			return found, nil
		}
		dir = up
	}
}

// judge reads the licences of a part.
func (p *part) judge(files map[string]string) error {
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		text := strings.TrimSpace(strings.ReplaceAll(files[name], "\r\n", "\n")) + "\n"
		kinds, err := recogniseKinds(text)
		if err != nil {
			return fmt.Errorf("%s %s, file %s: %w", p.name, p.version, name, err)
		}
		if len(kinds) == 0 && licenceName.MatchString(path.Base(name)) {
			return fault.New("unknown-licence", "%s %s: the licence in %s is not known; read it, and add it to the kinds that "+
				"are allowed or do without the module", p.name, p.version, name)
		}
		if seen[text] {
			continue
		}
		seen[text] = true
		p.kinds = append(p.kinds, kinds...)
		p.copyright = append(p.copyright, copyrightLines(text)...)
		p.texts = append(p.texts, licenceText{name, text})
	}
	if len(p.kinds) == 0 {
		return fault.New("no-licence", "%s %s has no licence, so nobody may pass it on; do without it", p.name, p.version)
	}
	slices.Sort(p.kinds)
	p.kinds = slices.Compact(p.kinds)
	var lines []string
	for _, line := range p.copyright { // in their order
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	p.copyright = lines
	return nil
}
