package main

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"hashgrove/internal/cli"
)

// TestEnvironment: a flag on the command line wins over the environment.
func TestEnvironment(t *testing.T) {
	indexed(t)
	t.Setenv("HASHGROVE_RANK", "nonsense")
	t.Setenv("HASHGROVE_VERSION", "of the container")
	refusal{"search items.hgi new.csv", 2, "bad-flag-value", "--rank nonsense"}.try(t)
	succeed(t, shellWords("search items.hgi new.csv --rank hamming")...)
	succeed(t)
}

// TestHelpOfEveryVerb: "help VERB" and "VERB --help" are the same.
func TestHelpOfEveryVerb(t *testing.T) {
	all := append(verbs((&app{}).root()), &cobra.Command{Use: "hashgrove"})
	for _, cmd := range all {
		words := strings.Fields(cli.Verb(cmd))
		a, b := succeed(t, append([]string{"help"}, words...)...), succeed(t, append(words, "--help")...)
		if a != b || !strings.Contains(a, "Usage:\n  hashgrove") {
			t.Errorf("%s: help and --help differ:\n%s\n%s", cli.Verb(cmd), a, b)
		}
	}
}

// TestSuggestions: a mistyped verb, flag or value gets one plain sentence.
func TestSuggestions(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, r := range []refusal{
		{"trian", 2, "no-such-verb", `"trian" train?`},
		{"index bakup", 2, "no-such-verb", `index "bakup" backup?`},
		{"index zzz", 2, "no-such-verb", `index "zzz" "hashgrove help index"`},
		{"zzz", 2, "no-such-verb", `"zzz" "hashgrove help"`},
		{"train x --lables y", 2, "no-such-flag", "--lables --labels?"},
		{"index build x --atributes y", 2, "no-such-flag", "--atributes --attributes?"},
		{"train x --zzzzzz", 2, "no-such-flag", `--zzzzzz "hashgrove help train"`},
		{"train x -z", 2, "no-such-flag", `-z "hashgrove help train"`},
		{"train x --bits", 2, "bad-flag", `--bits "hashgrove help train"`},
		{"train x -o", 2, "bad-flag", `-o "hashgrove help train"`},
		{"train x --=3", 2, "bad-flag", `--=3 "hashgrove help train"`},
		{"index delete x --wait 3", 2, "bad-flag-value", `--wait "3" "hashgrove help index delete"`},
		{"train x --validation a", 2, "bad-flag-value", `--validation "a" number "hashgrove help train"`},
		{"train x --mirror=maybe", 2, "bad-flag-value", `--mirror "maybe" true false "hashgrove help train"`},
		{`index delete x --id 'a"b'`, 2, "bad-flag-value", `--id "hashgrove help index delete"`},
		{"search x --row 1,b", 2, "bad-flag-value", `--row "b" number "hashgrove help search"`},
		{"--sed 3", 2, "no-such-flag", "--sed --seed?"},
	} {
		o := r.try(t)
		if strings.Count(o.err, "\n") != 1 || o.out != "" || strings.Contains(o.err, "?") == strings.Contains(o.err, "hashgrove help") {
			t.Errorf("%s: %s%s", r.line, o.err, o.out)
		}
	}
	if out := succeed(t, "--version"); !strings.HasPrefix(succeed(t, "version"), out) || strings.Count(out, "\n") != 1 {
		t.Errorf("--version says %q", out)
	}
}

// TestIDWithComma: an id that has a comma is found as before.
func TestIDWithComma(t *testing.T) {
	indexed(t)
	write(t, "odd.csv", strings.Replace(string(read(t, "new.csv")), "new-0,", `"a,b",`, 1))
	succeed(t, shellWords("index add items.hgi odd.csv --label category --id-column sku")...)
	if f := searched(t, "items.hgi --id a,b -k 1"); len(f.Results) != 1 || f.Results[0].Query != "a,b" {
		t.Errorf("found %+v", f)
	}
	if out := succeed(t, shellWords(`index delete items.hgi --id '"a,b"'`)...); !strings.Contains(out, "1 item deleted") {
		t.Errorf("delete says %s", out)
	}
}

// TestSignals: a signal ends the command with the status that a shell gives, and the finished bits stay.
func TestSignals(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no signals to send")
	}
	shop(t)
	for signal, status := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} {
		name := strings.ReplaceAll(signal.String(), " ", "-") + ".hgm"
		cmd := command("train", "items.csv", "--label", "category", "--id-column", "sku", "--bits", "4000", "--rounds", "20", "-o", name)
		var errOut bytes.Buffer
		cmd.Stderr = &errOut
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for range 6000 { // until the first bits are safe
			if bits, _ := filepath.Glob(name + ".ckpt/*.bit"); len(bits) > 0 {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		err := cmd.Wait()
		exit, ok := err.(*exec.ExitError)
		if !ok || exit.ExitCode() != status || !strings.Contains(errOut.String(), "interrupted") ||
			!strings.Contains(errOut.String(), "--resume") {
			t.Errorf("%v: %v, want status %d\n%s", signal, err, status, errOut.String())
		}
	}
}
