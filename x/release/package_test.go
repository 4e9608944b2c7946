package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hashgrove/internal/model"
	"hashgrove/internal/testkit/needs"
)

var someDate = time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC)

// built is the command for this machine, built once for all tests from a copy of its source, with what it says.
var built = sync.OnceValues(func() (*sample, error) {
	folder, err := os.MkdirTemp("", "hashgrove-release-")
	if err != nil {
		return nil, err
	}
	workFolder = folder
	s := &sample{release: &release{
		root: filepath.Join(folder, "first"), version: model.Version + "-test.1", date: someDate, maintainer: defaultMaintainer,
	}, folder: folder}
	if s.parts, err = allParts(); err != nil {
		return nil, err
	}
	if err := copySource(s.root); err != nil {
		return nil, err
	}
	s.binary = filepath.Join(folder, "one", hostPlatform().command())
	if err := s.build(hostPlatform(), s.binary); err != nil {
		return nil, err
	}
	texts, err := s.commandTexts(s.binary)
	if err != nil {
		return nil, err
	}
	s.release.root = root // for the licence and the unit
	s.content, err = s.release.content(s.binary, platform{"linux", runtime.GOARCH}, texts)
	return s, err
})

var workFolder string // of the sample

type sample struct {
	*release
	folder, binary string
	content        []file
}

func TestMain(m *testing.M) {
	code := m.Run()
	if workFolder != "" {
		os.RemoveAll(workFolder)
	}
	os.Exit(code)
}

// buildSample is that sample; it links the whole command.
func buildSample(t *testing.T) *sample {
	t.Helper()
	if testing.Short() {
		t.Skip("builds the command")
	}
	s, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// copySource copies what the compiler reads of our module into another folder.
func copySource(to string) error {
	cmd := exec.Command("go", "list", "-deps", "-f",
		`{{with .Module}}{{if .Main}}{{range $.GoFiles}}{{$.Dir}}/{{.}}{{"\n"}}{{end}}{{range $.SFiles}}{{$.Dir}}/{{.}}{{"\n"}}{{end}}`+
			`{{range $.HFiles}}{{$.Dir}}/{{.}}{{"\n"}}{{end}}{{range $.EmbedFiles}}{{$.Dir}}/{{.}}{{"\n"}}{{end}}{{end}}{{end}}`,
		"./cmd/hashgrove", "./cmd/hashgrove-gpu")
	cmd.Dir, cmd.Env = root, hostPlatform().environment()
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("go list: %w", err)
	}
	top, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	if top, err = filepath.EvalSymlinks(top); err != nil {
		return err
	}
	for _, name := range append(strings.Fields(string(out)), filepath.Join(top, "go.mod"), filepath.Join(top, "go.sum")) {
		short, err := filepath.Rel(top, name)
		if err != nil {
			return err
		}
		b, err := os.ReadFile(name)
		if err := errors.Join(err, writeFile(filepath.Join(to, short), b)); err != nil {
			return err
		}
	}
	return nil
}

// TestSameBytesFromTwoFolders builds the command again in another folder. With HASHGROVE_LONG it compiles everything again,
// with a cache of its own.
func TestSameBytesFromTwoFolders(t *testing.T) {
	s := buildSample(t)
	if os.Getenv("HASHGROVE_LONG") != "" {
		t.Setenv("GOCACHE", t.TempDir())
	}
	t.Setenv("GOFLAGS", "-tags=notrain") // the environment must not matter
	second := *s.release
	second.root = filepath.Join(s.folder, "a", "deeper", "second")
	if err := copySource(second.root); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(s.folder, "two", hostPlatform().command())
	if err := second.build(hostPlatform(), other); err != nil {
		t.Fatal(err)
	}
	a, b := read(t, s.binary), read(t, other)
	if !bytes.Equal(a, b) {
		t.Errorf("two folders gave two binaries: %d and %d bytes, %x and %x", len(a), len(b), sha256.Sum256(a), sha256.Sum256(b))
	}
	home, err := os.UserHomeDir()
	for _, folder := range []string{s.folder, filepath.Join(home, "go", "pkg")} {
		if err == nil && bytes.Contains(a, []byte(folder)) {
			t.Errorf("the binary names the folder %s", folder)
		}
	}
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestVersionOfARelease(t *testing.T) {
	for given, ok := range map[string]bool{
		model.Version: true, model.Version + "-rc.1": true, model.Version + "+a.b": true,
		"9.9.9": false, model.Version + "1": false, model.Version + ".1": false, model.Version + "-": false,
		model.Version + "-a b": false, model.Version + "-x'": false, model.Version + "-/../x": false,
	} {
		if got, err := releaseVersion(root, given, someDate); (err == nil) != ok || ok && got != given {
			t.Errorf("%q: %q, %v", given, got, err)
		}
	}
	s := buildSample(t)
	out, err := exec.Command(s.binary, "version").Output()
	if want := "hashgrove " + model.Version + ", build " + s.version + "\n"; err != nil || !strings.HasPrefix(string(out), want) {
		t.Errorf("%s%v, want %s", out, err, want)
	}
}

// TestArchives unpacks what was packed, twice: all files are there, with modes and one date, and the bytes are the same.
func TestArchives(t *testing.T) {
	files := []file{{"b/x", 0o644, []byte("text")}, {"a", 0o755, []byte("command")}, {"b/c/y", 0o644, nil}}
	want := "n/ n/a n/b/ n/b/c/ n/b/c/y n/b/x"
	packed, err := tarGz("n", files, someDate)
	if err != nil {
		t.Fatal(err)
	}
	unzipped, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for r := tar.NewReader(unzipped); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		names = append(names, h.Name)
		if h.Uid != 0 || h.Gid != 0 || !h.ModTime.Equal(someDate) || h.Name == "n/a" && h.Mode != 0o755 {
			t.Errorf("%+v", h)
		}
	}
	if got := strings.Join(names, " "); got != want {
		t.Errorf("the tar has %s", got)
	}
	zipFile, err := zipped("n", files, someDate)
	if err != nil {
		t.Fatal(err)
	}
	z, err := zip.NewReader(bytes.NewReader(zipFile), int64(len(zipFile)))
	if err != nil {
		t.Fatal(err)
	}
	names = nil
	for _, f := range z.File {
		names = append(names, f.Name)
		if !f.Modified.Equal(someDate) || f.Mode().IsDir() != strings.HasSuffix(f.Name, "/") {
			t.Errorf("%+v", f.FileHeader)
		}
	}
	if got := strings.Join(names, " "); got != want {
		t.Errorf("the zip has %s", got)
	}
	slices.Reverse(files)
	again, err := tarGz("n", files, someDate)
	zipAgain, err2 := zipped("n", files, someDate)
	if err != nil || err2 != nil || !bytes.Equal(packed, again) || !bytes.Equal(zipFile, zipAgain) {
		t.Errorf("another order of the files gave another archive: %v %v", err, err2)
	}
}

// TestBillOfMaterials checks what readers of CycloneDX need, and that the list is about this binary.
func TestBillOfMaterials(t *testing.T) {
	s := buildSample(t)
	b, err := s.bill(s.binary)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := s.bill(s.binary); err != nil || !bytes.Equal(b, again) {
		t.Errorf("the list is another one the second time: %v", err)
	}
	var list bom
	if err := json.Unmarshal(b, &list); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(read(t, s.binary))
	if list.Format != "CycloneDX" || list.SpecVersion != "1.5" || list.Version != 1 ||
		list.Metadata.Component.Hashes[0].Content != hex.EncodeToString(sum[:]) ||
		!regexp.MustCompile(`^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).
			MatchString(list.SerialNumber) {
		t.Errorf("the head of the list is wrong: %.600s", b)
	}
	refs := map[string]bool{list.Metadata.Component.Ref: true}
	sums := string(read(t, filepath.Join(root, "go.sum")))
	for _, c := range list.Components {
		if refs[c.Ref] || c.Name == "" || len(c.Licenses) != 1 || c.Licenses[0].Expression == "" || c.Copyright == "" {
			t.Errorf("a part lacks something or is there twice: %+v", c)
		}
		refs[c.Ref] = true
		if c.Type == "library" && c.Name != "std" && (len(c.Hashes) != 1 || len(c.Hashes[0].Content) != 64 ||
			!strings.Contains(sums, c.Name+" "+c.Version+" h1:") || !strings.HasPrefix(c.Purl, "pkg:golang/")) {
			t.Errorf("%+v", c)
		}
	}
	if len(list.Components) < 25 || len(list.Dependencies) != len(list.Components)+1 {
		t.Errorf("%d parts and %d dependencies", len(list.Components), len(list.Dependencies))
	}
	for _, d := range list.Dependencies {
		for _, ref := range append(d.DependsOn, d.Ref) {
			if !refs[ref] {
				t.Errorf("nothing is named %s", ref)
			}
		}
	}
	without := *s.release
	without.parts = without.parts[1:]
	if _, err := without.bill(s.binary); err == nil {
		t.Error("a part without a known licence got into the list")
	}
}

// TestChecksums has sha256sum read what was written, where it is installed.
func TestChecksums(t *testing.T) {
	folder := t.TempDir()
	if err := errors.Join(writeFile(filepath.Join(folder, "a.zip"), []byte("a")),
		writeFile(filepath.Join(folder, "man/man1/b.1"), []byte("b")), writeChecksums(folder)); err != nil {
		t.Fatal(err)
	}
	const a = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb  a.zip\n"
	if got := string(read(t, filepath.Join(folder, "SHA256SUMS"))); !strings.HasPrefix(got, a) || strings.Count(got, "\n") != 2 {
		t.Errorf("SHA256SUMS has %s", got)
	}
	cmd := exec.Command(needs.Program(t, needs.Shell, "sha256sum"), "-c", "--strict", "SHA256SUMS")
	cmd.Dir = folder
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// filesBelow lists what is below a folder.
func filesBelow(t *testing.T, folder string) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
		names = append(names, strings.TrimPrefix(name, folder))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
