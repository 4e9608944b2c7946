// Command release makes what users download: the command for every platform in an archive and in a wheel for Python,
// packages for Debian, manual pages, completions for shells, the licences of everything inside, a list of parts for
// each binary (SBOM) and checksums. Everything in it is a function of the source, the version and the Go toolchain:
// two runs in two folders give the same bytes.
//
//	go run ./x/release [-version 0.1.0] [-out dist] [-maintainer 'NAME <ADDRESS>']
//
// It is our own after trying others. cyclonedx-gomod v1.10.0 lists 30 of 31 licences, but not that of the standard
// library, nor data that we embed, and puts the hash of its own binary into the list, so that the bytes follow from
// whoever compiled it. nfpm v2.43.4 would replace about 60 lines, which pack a .deb, by a tool of 55 modules that
// compiles for 87 s. goreleaser was not tried further than its tree, of more than 300 modules.
package main

import (
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// release is what all steps know.
type release struct {
	root       string // folder of the module
	version    string
	date       time.Time // of everything inside archives
	maintainer string
	parts      []part
}

func run(args []string) error {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	version := flags.String("version", "", "`VERSION` of the release; default by the commit")
	out := flags.String("out", "dist", "`FOLDER` to write into a folder named by the version")
	maintainer := flags.String("maintainer", defaultMaintainer, "`NAME <ADDRESS>` in the packages for Debian")
	if err := flags.Parse(args); err != nil {
		return err
	}
	r := &release{root: ".", maintainer: *maintainer}
	if _, err := os.Stat("go.mod"); err != nil {
		return fmt.Errorf("start it in the folder of the module: %w", err)
	}
	var err error
	if r.date, err = releaseDate(r.root); err != nil {
		return err
	}
	if r.version, err = releaseVersion(r.root, *version, r.date); err != nil {
		return err
	}
	if err := os.MkdirAll(*out, 0o777); err != nil {
		return err
	}
	work, err := os.MkdirTemp(*out, ".new-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	folder := filepath.Join(work, "hashgrove-"+r.version)
	if err := r.write(folder, filepath.Join(work, "build")); err != nil {
		return err
	}
	final := filepath.Join(*out, filepath.Base(folder))
	if err := os.RemoveAll(final); err != nil {
		return err
	}
	if err := os.Rename(folder, final); err != nil {
		return err
	}
	fmt.Println(final)
	return nil
}

// write makes the release in a folder; what is built on the way goes into another.
func (r *release) write(folder, build string) error {
	verify := exec.Command("go", "mod", "verify")
	verify.Dir = r.root
	if out, err := verify.CombinedOutput(); err != nil {
		return fmt.Errorf("go mod verify: %w\n%s", err, out)
	}
	var err error
	if r.parts, err = linkedParts(r.root, platforms); err != nil {
		return err
	}
	host := hostPlatform().binary(build)
	if err := r.build(hostPlatform(), host); err != nil {
		return err
	}
	texts, err := r.commandTexts(host)
	if err != nil {
		return err
	}
	for _, p := range platforms {
		fmt.Println(p)
		if err := r.writePlatform(folder, build, p, texts); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
	}
	for _, f := range append(texts, file{"THIRD-PARTY.txt", 0o644, thirdParty(r.parts)}) {
		if err := writeFile(filepath.Join(folder, f.name), f.data); err != nil {
			return err
		}
	}
	return writeChecksums(folder)
}

// writePlatform builds the command for a platform and writes its archive, its wheel, its list of parts and its package.
func (r *release) writePlatform(folder, build string, p platform, texts []file) error {
	binary := p.binary(build)
	if p != hostPlatform() { // which is there already
		if err := r.build(p, binary); err != nil {
			return err
		}
	}
	name := fmt.Sprintf("hashgrove-%s-%s-%s", r.version, p.os, p.arch)
	list, err := r.bill(binary)
	if err != nil {
		return err
	}
	if err := writeFile(filepath.Join(folder, name+".cdx.json"), list); err != nil {
		return err
	}
	content, err := r.content(binary, p, texts)
	if err != nil {
		return err
	}
	ending, pack := ".tar.gz", tarGz
	if p.os == "windows" {
		ending, pack = ".zip", zipped
	}
	packed, err := pack(name, content, r.date)
	if err != nil {
		return err
	}
	if err := writeFile(filepath.Join(folder, name+ending), packed); err != nil {
		return err
	}
	wheel, err := r.wheel(binary, p)
	if err != nil {
		return err
	}
	// In a folder of their own: pip takes archives beside them for sources of the package.
	if err := writeFile(filepath.Join(folder, "wheels", r.wheelName(p)), wheel); err != nil || p.os != "linux" {
		return err
	}
	deb, err := r.debianPackage(p.arch, content)
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(folder, fmt.Sprintf("hashgrove_%s_%s.deb", debianVersion(r.version), p.arch)), deb)
}

// programs is the command and hashgrove-gpu, in a folder of an archive.
func programs(binary string, p platform, folder string) ([]file, error) {
	command, err := os.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	device, err := os.ReadFile(helper(binary))
	name := p.command()
	return []file{{folder + name, 0o755, command}, {folder + filepath.Base(helper(name)), 0o755, device}}, err
}

// content is the files of an archive.
func (r *release) content(binary string, p platform, texts []file) ([]file, error) {
	list, err := programs(binary, p, "")
	if err != nil {
		return nil, err
	}
	licence, err := os.ReadFile(filepath.Join(r.root, "LICENSE"))
	if err != nil {
		return nil, err
	}
	list = append(list, file{"LICENSE", 0o644, licence}, file{"THIRD-PARTY.txt", 0o644, thirdParty(r.parts)})
	if p.os == "linux" {
		unit, err := os.ReadFile(filepath.Join(r.root, "deploy", "hashgrove.service"))
		if err != nil {
			return nil, err
		}
		list = append(list, file{"examples/hashgrove.service", 0o644, unit})
	}
	return append(list, texts...), nil
}

// commandTexts asks the command for its manual pages and completions.
func (r *release) commandTexts(command string) ([]file, error) {
	pages, err := os.MkdirTemp("", "hashgrove-man-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(pages)
	man := exec.Command(command, "man", pages, "--date", r.date.Format(time.DateOnly))
	if out, err := man.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("hashgrove man: %w\n%s", err, out)
	}
	names, err := os.ReadDir(pages)
	if err != nil {
		return nil, err
	}
	var list []file
	for _, d := range names {
		page, err := os.ReadFile(filepath.Join(pages, d.Name()))
		if err != nil {
			return nil, err
		}
		list = append(list, file{"man/man1/" + d.Name(), 0o644, page})
	}
	for _, shell := range [][2]string{
		{"bash", "hashgrove.bash"}, {"fish", "hashgrove.fish"}, {"powershell", "hashgrove.ps1"}, {"zsh", "_hashgrove"},
	} {
		script, err := exec.Command(command, "completion", shell[0]).Output()
		if err != nil {
			return nil, fmt.Errorf("hashgrove completion %s: %w", shell[0], err)
		}
		list = append(list, file{"completions/" + shell[1], 0o644, script})
	}
	return list, nil
}

// writeChecksums writes SHA256SUMS, which "sha256sum -c" reads, about everything in the folder.
func writeChecksums(folder string) error {
	var list strings.Builder
	err := filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		short, err := filepath.Rel(folder, name)
		fmt.Fprintf(&list, "%x  %s\n", sha256.Sum256(b), filepath.ToSlash(short))
		return err
	})
	return errors.Join(err, writeFile(filepath.Join(folder, "SHA256SUMS"), []byte(list.String())))
}

func writeFile(name string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	return os.WriteFile(name, data, 0o666)
}
