package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"

	"hashgrove/internal/gpu"
	"hashgrove/internal/model"
)

// platform is what a binary runs on.
type platform struct{ os, arch string }

var platforms = []platform{
	{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}, {"windows", "amd64"},
	{"windows", "arm64"},
}

func hostPlatform() platform { return platform{runtime.GOOS, runtime.GOARCH} }

func (p platform) String() string { return p.os + "/" + p.arch }

// command is the name of the binary.
func (p platform) command() string {
	if p.os == "windows" {
		return "hashgrove.exe"
	}
	return "hashgrove"
}

// binary is where the command for the platform is built.
func (p platform) binary(build string) string {
	return filepath.Join(build, p.os+"-"+p.arch, p.command())
}

// helper returns the path of hashgrove-gpu, which lies beside the command.
func helper(binary string) string {
	folder, name := filepath.Split(binary)
	return filepath.Join(folder, gpu.Program+filepath.Ext(name))
}

// environment is that of the go command, without what would change the bytes of a binary.
func (p platform) environment() []string {
	var list []string
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		switch name {
		case "GOFLAGS", "GOOS", "GOARCH", "GOAMD64", "GOARM64", "GOEXPERIMENT", "GOFIPS140", "GOWORK", "CGO_ENABLED":
		default:
			list = append(list, v)
		}
	}
	return append(list, "GOFLAGS=-mod=readonly", "GOOS="+p.os, "GOARCH="+p.arch, "GOAMD64=v1", "GOARM64=v8.0",
		"GOWORK=off", "CGO_ENABLED=0")
}

// build compiles the command, and hashgrove-gpu beside it. Neither folders nor the state of a repository reach a
// binary: the version is stamped.
func (r *release) build(p platform, to string) error {
	to, err := filepath.Abs(to)
	if err != nil {
		return err
	}
	for from, to := range map[string]string{"./cmd/hashgrove": to, "./cmd/hashgrove-gpu": helper(to)} {
		cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false",
			"-ldflags=-s -w -buildid= -X main.build="+r.version, "-o", to, from)
		cmd.Dir, cmd.Env = r.root, p.environment()
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("go build: %w\n%s", err, out)
		}
	}
	return nil
}

// releaseDate is SOURCE_DATE_EPOCH, in seconds since 1970, or else the date of the commit.
func releaseDate(root string) (time.Time, error) {
	seconds := os.Getenv("SOURCE_DATE_EPOCH")
	if seconds == "" {
		out, err := git(root, "log", "-1", "--format=%ct")
		if err != nil {
			return time.Time{}, fmt.Errorf("the date of the commit: %w; without git set SOURCE_DATE_EPOCH", err)
		}
		seconds = out
	}
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil || n < 0 {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH %q: give a number of seconds since 1970", seconds)
	}
	return time.Unix(n, 0).UTC(), nil
}

var validVersion = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+([-+][0-9A-Za-z.+-]*[0-9A-Za-z])?$`)

// releaseVersion checks a version against that of the source, which models name as their maker. Without one it is the
// source's where the commit has its tag, else a name that sorts before it and tells the commit.
func releaseVersion(root, given string, date time.Time) (string, error) {
	if given != "" {
		rest, ok := strings.CutPrefix(given, model.Version)
		if !ok || !validVersion.MatchString(given) || rest != "" && !strings.ContainsAny(rest[:1], "-+") {
			return "", fmt.Errorf("version %q: it must be %s, which is the Version of package model, or that with an ending "+
				"such as -rc.1", given, model.Version)
		}
		return given, nil
	}
	changed, err := git(root, "status", "--porcelain")
	if err != nil {
		return "", fmt.Errorf("%w; without git give a version", err)
	}
	tags, err := git(root, "tag", "--points-at", "HEAD")
	if err != nil {
		return "", err
	}
	if changed == "" && strings.Contains("\n"+tags+"\n", "\nv"+model.Version+"\n") {
		return model.Version, nil
	}
	commit, err := git(root, "rev-parse", "--short=12", "HEAD")
	if err != nil {
		return "", err
	}
	if changed != "" {
		commit += ".changed"
	}
	return model.Version + "-dev." + date.Format("20060102150405") + "+" + commit, nil
}

// git runs a command of git and returns what it prints.
func git(root string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return strings.TrimSpace(string(out)), nil
}
