package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"hashgrove/internal/cli"
	"hashgrove/internal/testkit/needs"
)

// TestManualPages: every verb has a page with all its flags and examples, and groff has nothing to complain about.
func TestManualPages(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "pages")
	succeed(t, "man", folder, "--date", "2026-11-16")
	names, err := filepath.Glob(filepath.Join(folder, "*.1"))
	if err != nil {
		t.Fatal(err)
	}
	root := (&app{}).root()
	for _, cmd := range append(verbs(root), root) {
		name := strings.TrimSuffix("hashgrove-"+strings.ReplaceAll(cli.Verb(cmd), " ", "-"), "-")
		page := string(read(t, filepath.Join(folder, name+".1")))
		plain := strings.NewReplacer(`\-`, "-", `\fB`, "", `\fI`, "", `\fR`, "", `\(dq`, `"`, `\e`, `\`, `\&`, "").Replace(page)
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && !strings.Contains(plain, "\n--"+f.Name) && !strings.Contains(plain, ", --"+f.Name) {
				t.Errorf("the page of %s does not have --%s", name, f.Name)
			}
		})
		for _, text := range []string{cmd.Short, cmd.Example, ".TH \"" + strings.ToUpper(name) + "\" \"1\" \"2026-11-16\""} {
			if !strings.Contains(plain, text) {
				t.Errorf("the page of %s does not have %q", name, text)
			}
		}
		for word := range strings.FieldsSeq(cmd.Long) {
			if !strings.Contains(plain, word) {
				t.Errorf("the page of %s lost the word %q", name, word)
			}
		}
	}
	if o := try(t, "man", folder, "--date", "yesterday"); o.code != 2 {
		t.Errorf("a wrong date: %d %s", o.code, o.err)
	}
	needs.Program(t, needs.Groff, "groff")
	out, err := exec.Command("groff", append([]string{"-man", "-Tutf8", "-ww", "-z", "-k"}, names...)...).CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Errorf("groff: %v\n%s", err, out)
	}
}
