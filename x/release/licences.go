package main

import (
	"fmt"
	"io/fs"
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

// pictures is a package of ours with data of others.
const pictures = "internal/dataset/fashion"

// linkedParts finds what the command contains on these platforms, with licences. A part without a licence is an error.
func linkedParts(root string, on []platform) ([]part, error) {
	folders := map[string]string{"hashgrove/" + pictures: filepath.Join(root, pictures)}
	for _, p := range on {
		cmd := exec.Command("go", "list", "-deps", "-f", "{{if .Standard}}Go|{{.Root}}{{else if not .Module.Main}}"+
			"{{.Module.Path}} {{.Module.Version}}|{{.Module.Dir}}{{end}}", "./cmd/hashgrove", "./cmd/hashgrove-gpu")
		cmd.Dir, cmd.Env, cmd.Stderr = root, p.environment(), os.Stderr
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("go list for %s: %w", p, err)
		}
		for line := range strings.FieldsFuncSeq(string(out), func(r rune) bool { return r == '\n' }) {
			name, folder, _ := strings.Cut(line, "|")
			folders[name] = folder
		}
	}
	var parts []part
	for _, name := range slices.Sorted(maps.Keys(folders)) {
		texts, err := licences(folders[name], name == "Go")
		if err != nil {
			return nil, err
		}
		if len(texts) == 0 {
			return nil, message.New("no-licence", "%s has no licence, so nobody may pass it on; do without it", name)
		}
		parts = append(parts, part{name, texts})
	}
	return parts, nil
}

var (
	licenceName = regexp.MustCompile(`(?i)^(licen[cs]e|copying|unlicense|notice|patents|copyright)([-._].*)?$`)
	othersName  = regexp.MustCompile(`(?i)^third[-_]?party[-_]?licen[cs]es$`) // a folder
)

// licences reads the licences in a folder and in those below it, of which Go's own programs and tests are not linked.
func licences(folder string, ofGo bool) (map[string]string, error) {
	found := map[string]string{}
	err := fs.WalkDir(os.DirFS(folder), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || ofGo && !strings.HasPrefix("src/vendor", name) && name != "." &&
			!strings.HasPrefix(name, "src/vendor/")):
			return fs.SkipDir
		case d.IsDir() || path.Ext(name) == ".go",
			!licenceName.MatchString(d.Name()) && !othersName.MatchString(path.Base(path.Dir(name))):
			return nil
		}
		b, err := fs.ReadFile(os.DirFS(folder), name)
		found[name] = strings.TrimSpace(strings.ReplaceAll(string(b), "\r\n", "\n")) + "\n"
		return err
	})
	return found, err
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
