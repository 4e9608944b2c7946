// Command release makes what users download: the command for every platform in an archive and in a wheel for Python,
// with the licences of everything inside, and checksums.
//
//	go run ./x/release [-version 0.1.0] [-out dist] [-platform linux/amd64]
package main

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"hashgrove/internal/gpu"
	"hashgrove/internal/model"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// platform is what a binary runs on, as in linux/amd64.
type platform string

var platforms = []platform{
	"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64",
}

// release is what all steps know.
type release struct {
	root    string // folder of the module
	version string
	folder  string // to write into
	parts   []part // of the binaries
}

func run(args []string) error {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	version := flags.String("version", "", "`VERSION` of the release; default by the commit")
	out := flags.String("out", "dist", "`FOLDER` to write into a folder named by the version")
	only := flags.String("platform", "", "make only what is for this `PLATFORM`, such as linux/amd64")
	if err := flags.Parse(args); err != nil {
		return err
	}
	on := platforms
	if *only != "" {
		on = []platform{platform(*only)}
		if !slices.Contains(platforms, on[0]) {
			return fmt.Errorf("-platform %s: the platforms are %v", *only, platforms)
		}
	}
	r := &release{root: "."}
	var err error
	if r.version, err = releaseVersion(r.root, *version); err != nil {
		return err
	}
	r.folder = filepath.Join(*out, "hashgrove-"+r.version)
	return r.write(on)
}

// write makes the release for some platforms.
func (r *release) write(on []platform) error {
	var err error
	if r.parts, err = linkedParts(r.root, on); err != nil {
		return err
	}
	if err := os.RemoveAll(r.folder); err != nil {
		return err
	}
	for _, p := range on {
		fmt.Println(p)
		if err := r.writePlatform(p); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
	}
	if err := writeChecksums(r.folder); err != nil {
		return err
	}
	fmt.Println(r.folder)
	return nil
}

// writePlatform builds the command for a platform and packs its archive and its wheel.
func (r *release) writePlatform(p platform) error {
	work, err := os.MkdirTemp("", "hashgrove-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	name := "hashgrove-" + r.version + "-" + strings.ReplaceAll(string(p), "/", "-")
	programs := filepath.Join(work, "archive", name)
	if err := r.build(p, programs); err != nil {
		return err
	}
	if err := r.writeLicences(programs); err != nil {
		return err
	}
	pack, ending := tarGz, ".tar.gz"
	if strings.HasPrefix(string(p), "windows/") {
		pack, ending = zipped, ".zip"
	} else if strings.HasPrefix(string(p), "linux/") {
		unit := filepath.Join(r.root, "deploy", "hashgrove.service")
		if err := copyFile(unit, filepath.Join(programs, "examples", "hashgrove.service")); err != nil {
			return err
		}
	}
	if err := pack(filepath.Join(work, "archive"), filepath.Join(r.folder, name+ending)); err != nil {
		return err
	}
	wheel := filepath.Join(work, "wheel")
	if err := r.fillWheel(p, programs, wheel); err != nil {
		return err
	}
	// In a folder of their own: pip takes archives beside them for sources of the package.
	return zipped(wheel, filepath.Join(r.folder, "wheels", r.wheelName(p)))
}

// build compiles the command and hashgrove-gpu into a folder.
func (r *release) build(p platform, to string) error {
	to, err := filepath.Abs(to)
	if err != nil {
		return err
	}
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -X main.build="+r.version,
		"-o", to+string(filepath.Separator), "./cmd/hashgrove", "./cmd/"+gpu.Program)
	cmd.Dir, cmd.Env = r.root, p.environment()
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return nil
}

// environment is that of the go command for a platform.
func (p platform) environment() []string {
	system, arch, _ := strings.Cut(string(p), "/")
	return append(os.Environ(), "GOFLAGS=-mod=readonly", "GOOS="+system, "GOARCH="+arch, "GOAMD64=v1", "GOARM64=v8.0",
		"GOWORK=off", "CGO_ENABLED=0")
}

// writeLicences writes our licence and those of all parts into a folder.
func (r *release) writeLicences(folder string) error {
	if err := copyFile(filepath.Join(r.root, "LICENSE"), filepath.Join(folder, "LICENSE")); err != nil {
		return err
	}
	return writeFile(filepath.Join(folder, "THIRD-PARTY.txt"), thirdParty(r.parts))
}

var validVersion = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+([-+][0-9A-Za-z.+-]*[0-9A-Za-z])?$`)

// releaseVersion checks a version against that of the source, which models name as their maker. Without one it is the
// source's where the commit has its tag, else a name that sorts before it and tells the commit.
func releaseVersion(root, given string) (string, error) {
	if given != "" {
		rest, ok := strings.CutPrefix(given, model.Version)
		if !ok || !validVersion.MatchString(given) || rest != "" && !strings.ContainsAny(rest[:1], "-+") {
			return "", fmt.Errorf("version %q: it must be %s, which is the Version of package model, or that with an ending "+
				"such as -rc.1", given, model.Version)
		}
		return given, nil
	}
	cmd := exec.Command("git", "describe", "--always", "--dirty", "--exact-match", "--tags")
	cmd.Dir = root
	if tag, err := cmd.Output(); err == nil && strings.TrimSpace(string(tag)) == "v"+model.Version {
		return model.Version, nil
	}
	cmd = exec.Command("git", "log", "-1", "--abbrev=12", "--date=format:%Y%m%d%H%M%S", "--format=%cd+%h")
	cmd.Dir = root
	commit, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git log: %w; without git give a -version", err)
	}
	return model.Version + "-dev." + strings.TrimSpace(string(commit)), nil
}

// writeChecksums writes SHA256SUMS, which "sha256sum -c" reads, about everything in the folder.
func writeChecksums(folder string) error {
	var list strings.Builder
	err := eachFile(folder, func(name string, data []byte) {
		fmt.Fprintf(&list, "%x  %s\n", sha256.Sum256(data), name)
	})
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(folder, "SHA256SUMS"), []byte(list.String()))
}

// eachFile reads the files below a folder in order; their names have slashes.
func eachFile(folder string, do func(name string, data []byte)) error {
	return fs.WalkDir(os.DirFS(folder), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(filepath.Join(folder, name))
		do(name, b)
		return err
	})
}

func writeFile(name string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	return os.WriteFile(name, data, 0o666)
}

// copyFile copies a file with its mode.
func copyFile(from, to string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := writeFile(to, b); err != nil {
		return err
	}
	return os.Chmod(to, info.Mode())
}
