package main

import (
	"encoding/json"
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

	"hashgrove/internal/message"
)

// part is a module inside the binary, the standard library, or data of others in a package of ours.
type part struct {
	name  string            // path and version of the module, "Go" or the path of the package
	texts map[string]string // the files with its licences, by their paths below the part
}

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
// package and in the folders above it up to that of the module. A part without a licence, or with one that is not
// allowed, is an error.
func linkedParts(root string, on []platform) ([]part, error) {
	found := map[string]map[string]string{}
	for _, p := range on {
		packages, err := listPackages(root, p)
		if err != nil {
			return nil, err
		}
		for _, pkg := range packages {
			name, top := pkg.place()
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
				found[name] = map[string]string{}
			}
			maps.Copy(found[name], own)
		}
	}
	var parts []part
	for _, name := range slices.Sorted(maps.Keys(found)) {
		p := part{name, found[name]}
		if err := p.check(); err != nil {
			return nil, err
		}
		parts = append(parts, p)
	}
	return parts, nil
}

// place names the part that a package belongs to, and the uppermost folder with its licences.
func (l *listed) place() (name, top string) {
	switch {
	case l.Standard:
		return "Go", l.Root
	case l.Module.Main:
		return l.ImportPath, l.Module.Dir
	}
	return l.Module.Path + " " + l.Module.Version, l.Module.Dir
}

func listPackages(root string, p platform) (list []listed, err error) {
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Dir,Root,Standard,Module", "./cmd/hashgrove",
		"./cmd/hashgrove-gpu")
	cmd.Dir, cmd.Env, cmd.Stderr = root, p.environment(), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list for %s: %w", p, err)
	}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var l listed
		if err := d.Decode(&l); err == io.EOF {
			return list, nil
		} else if err != nil {
			return nil, err
		}
		list = append(list, l)
	}
}

var (
	licenceName    = regexp.MustCompile(`(?i)^(licen[cs]e|copying|unlicense)([-._].*)?$`)
	supplementName = regexp.MustCompile(`(?i)^(notice|patents|copyright)([-._].*)?$`)
	othersName     = regexp.MustCompile(`(?i)^third[-_]?party[-_]?licen[cs]es$`) // a folder
)

// unused is a licence of object files in the folder of a linked package that only another build of Go links.
const unused = "src/crypto/internal/boring/LICENSE"

// licenceFiles reads the licences in a folder and in those above it, up to the top.
func licenceFiles(dir, top string) (map[string]string, error) {
	found := map[string]string{}
	for {
		names, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil {
			return nil, err
		}
		others, err := filepath.Glob(filepath.Join(dir, "*", "*"))
		if err != nil {
			return nil, err
		}
		for _, name := range append(names, others...) {
			base, folder := filepath.Base(name), filepath.Dir(name)
			if folder == dir && !licenceName.MatchString(base) && !supplementName.MatchString(base) ||
				folder != dir && !othersName.MatchString(filepath.Base(folder)) || filepath.Ext(base) == ".go" {
				continue
			}
			if info, err := os.Stat(name); err != nil || info.IsDir() {
				continue
			}
			b, err := os.ReadFile(name)
			if err != nil {
				return nil, err
			}
			short, err := filepath.Rel(top, name)
			if err != nil {
				return nil, err
			}
			if short = filepath.ToSlash(short); short != unused {
				found[short] = strings.TrimSpace(strings.ReplaceAll(string(b), "\r\n", "\n")) + "\n"
			}
		}
		up := filepath.Dir(dir)
		if dir == top || up == dir {
			return found, nil
		}
		dir = up
	}
}

// refused are words of licences, and of additions to them, that a binary under the MIT licence must not contain.
var refused = []string{
	"gnu general public license", "gnu affero general public license", "gnu lesser general public license",
	"gnu library general public license", "server side public license", "business source license", "commons clause",
	"elastic license", "attribution noncommercial", "non commercial use only", "non commercial purposes only",
	"all advertising materials mentioning features", "shall be used for good not evil",
}

var notWord = regexp.MustCompile(`[^a-z0-9]+`)

// check returns an error for a part without a licence or with one that is not allowed.
func (p part) check() error {
	for name, text := range p.texts {
		words := " " + notWord.ReplaceAllString(strings.ToLower(text), " ") + " "
		mozilla := strings.Contains(words, "mozilla public license version 2 0")
		for _, phrase := range refused {
			// The Mozilla licence names those of GNU as others that its files may be given under.
			if strings.Contains(words, " "+phrase+" ") && !(mozilla && strings.HasPrefix(phrase, "gnu ")) {
				return message.New("refused-licence", "%s, file %s: its licence says %q, which the binary must not contain",
					p.name, name, phrase)
			}
		}
	}
	for name := range p.texts {
		// The pictures of fashion have a notice instead.
		if licenceName.MatchString(path.Base(name)) || p.name == "hashgrove/internal/dataset/fashion" {
			return nil
		}
	}
	return message.New("no-licence", "%s has no licence, so nobody may pass it on; do without it", p.name)
}

// thirdParty is THIRD-PARTY.txt: the licences of everything in the binaries in full.
func thirdParty(parts []part) []byte {
	var b strings.Builder
	b.WriteString("The binaries of Hashgrove contain the works below, under these licences.\n")
	line := strings.Repeat("=", 80)
	for _, p := range parts {
		fmt.Fprintf(&b, "\n%s\n%s\n%s\n", line, p.name, line)
		for _, name := range slices.Sorted(maps.Keys(p.texts)) {
			fmt.Fprintf(&b, "\n%s:\n\n%s", name, p.texts[name])
		}
	}
	return []byte(b.String())
}
