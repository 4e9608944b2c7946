package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"hashgrove/internal/cli"
	"hashgrove/internal/hamming"
	"hashgrove/internal/supervision"
	"hashgrove/internal/testkit/needs"
	"hashgrove/internal/testkit/pgtest"
)

// outcome is what a command line left.
type outcome struct {
	code     int
	out, err string
	cause    error // why it failed
}

// try runs a command line in the present folder.
func try(t *testing.T, args ...string) outcome {
	t.Helper()
	return feed(t, strings.NewReader(""), args...)
}

// succeed runs a command line that must succeed and returns its standard output.
func succeed(t *testing.T, args ...string) string {
	t.Helper()
	o := try(t, args...)
	if o.code != 0 {
		t.Fatalf("hashgrove %s: exit %d\n%s%s", strings.Join(args, " "), o.code, o.out, o.err)
	}
	return o.out
}

// numbers returns the numbers in a text, in order.
func numbers(text string) []string { return regexp.MustCompile(`[0-9]+`).FindAllString(text, -1) }

// lastLine returns the last line of a text.
func lastLine(text string) string {
	text = strings.TrimSuffix(text, "\n")
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// infoReport is some of what info --json says.
type infoReport struct {
	Fingerprint string `json:"fingerprint"`
	Bits        int    `json:"bits"`
	Codes       int    `json:"codes"`
	IDs         bool   `json:"ids"`
	Items       int    `json:"items"`
	Features    string `json:"features"`
}

func informed(t *testing.T, path string) (r infoReport) {
	t.Helper()
	if err := json.Unmarshal([]byte(succeed(t, "info", path, "--json")), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// shop makes a folder with small data in several formats and enters it: 400 items of 12 numbers in 4 categories.
func shop(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	rng := rand.New(rand.NewPCG(5, 5))
	categories := []string{"boots", "coats", "hats", "scarves"}
	table := func(name string, rows int) (vectors [][]float32, classes []int) {
		var b strings.Builder
		b.WriteString("sku,category")
		for j := range 12 {
			fmt.Fprintf(&b, ",f%d", j)
		}
		b.WriteString("\n")
		for i := range rows {
			class := rng.IntN(4)
			v := make([]float32, 12)
			fmt.Fprintf(&b, "%s-%d,%s", strings.TrimSuffix(name, ".csv"), i, categories[class])
			for j := range v {
				v[j] = float32(rng.NormFloat64())
				if j%4 == class {
					v[j] += 2
				}
				fmt.Fprintf(&b, ",%v", v[j])
			}
			b.WriteString("\n")
			vectors, classes = append(vectors, v), append(classes, class)
		}
		write(t, name, b.String())
		return vectors, classes
	}
	vectors, classes := table("items.csv", 400)
	table("new.csv", 80)
	var npy bytes.Buffer
	header := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%d, 12), }", len(vectors))
	header += strings.Repeat(" ", 118-len(header)-1) + "\n"
	fmt.Fprintf(&npy, "\x93NUMPY\x01\x00%c\x00%s", len(header), header)
	var labels strings.Builder
	for i, v := range vectors {
		for _, x := range v {
			npy.Write(float32LE(x))
		}
		fmt.Fprintln(&labels, categories[classes[i]])
	}
	write(t, "vectors.npy", npy.String())
	write(t, "classes.txt", labels.String())
	write(t, "hashes.csv", "sku,phash,kind\na,00ff,cat\nb,0f0f,dog\n")
	write(t, "new-hashes.csv", "sku,phash,kind\nc,00fe,cat\n")
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// shellWords splits a command line as a shell does, as far as single quotes go.
func shellWords(line string) []string {
	var words []string
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			words = append(words, part)
		} else {
			words = append(words, strings.Fields(part)...)
		}
	}
	return words
}

// verbs returns all runnable commands that are not hidden.
func verbs(cmd *cobra.Command) []*cobra.Command {
	var found []*cobra.Command
	for _, c := range cmd.Commands() {
		switch {
		case c.Name() == "help" || c.Name() == "completion" || c.Hidden:
		case c.HasSubCommands():
			found = append(found, verbs(c)...)
		default:
			found = append(found, c)
		}
	}
	return found
}

// TestHelpExamples runs the examples of every verb in the order of the help.
func TestHelpExamples(t *testing.T) {
	needs.Check(t, "the demo's example takes seconds")
	shop(t)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	write(t, "token.txt", "a-token-of-many-characters")
	order := []string{
		"version", "inspect", "train", "encode", "eval", "compare", "index build", "index add", "index update", "index delete", "index compact", "export", "search", "index list", "index export", "index backup",
		"index restore", "index migrate", "info", "verify", "serve", "push", "pull", "demo", "features", "duplicates",
	}
	server := ""
	if pgtest.Available() {
		server = pgtest.Start(t).URL
		t.Setenv("PGPASSWORD", pgtest.Password)
	} else {
		needs.Missing(t, needs.Postgres, "examples that push to it")
	}
	root := (&app{}).root()
	seen := 0
	for _, name := range order {
		cmd, _, err := root.Find(strings.Fields(name))
		if err != nil {
			t.Fatal(err)
		}
		if cmd.Example == "" || cmd.Long == "" && cmd.Short == "" {
			t.Errorf("%s has no example or no explanation", name)
		}
		for line := range strings.Lines(cmd.Example) {
			words := shellWords(line)
			if at := slices.Index(words, "--server"); at > 0 {
				words[at+1] = serveItems(t, words[2])
			}
			at := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, "postgres:") })
			if at > 0 && server == "" {
				t.Logf("there is no server to run %s", strings.TrimSpace(line))
				continue
			}
			if at > 0 && server != "" {
				words[at] = server
			}
			if piped(t, words) {
				seen++
				continue
			}
			if len(words) == 0 || words[0] != "hashgrove" {
				t.Errorf("%s: example line %q is no command", name, line)
				continue
			}
			runExample(t, words[1:]...)
			seen++
		}
	}
	for _, cmd := range verbs(root) {
		if name := cli.Verb(cmd); !slices.Contains(order, name) {
			t.Errorf("the examples of %s are not run", name)
		}
	}
	if seen < 10 {
		t.Errorf("only %d examples", seen)
	}
}

// TestTrainIsTheSameOnAnyNumberOfThreads is the promise of the model file, byte for byte.
func TestTrainIsTheSameOnAnyNumberOfThreads(t *testing.T) {
	shop(t)
	var first []byte
	for _, threads := range []string{"1", "2", "7"} {
		succeed(t, "train", "items.csv", "--label", "category", "--id-column", "sku", "--bits", "12", "--rounds", "30", "--threads", threads, "-o", "m.hgm", "--force")
		b, err := os.ReadFile("m.hgm")
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = b
		} else if !bytes.Equal(first, b) {
			t.Fatalf("%s threads gave another model", threads)
		}
	}
	// The same vectors in another format are the same data.
	succeed(t, "train", "vectors.npy", "--labels", "classes.txt", "--bits", "12", "--rounds", "30", "-o", "n.hgm")
	a, b := succeed(t, "verify", "m.hgm"), succeed(t, "verify", "n.hgm")
	if strings.TrimPrefix(a, "m.hgm") != strings.TrimPrefix(b, "n.hgm") {
		t.Errorf("csv and npy gave different models:\n%s\n%s", a, b)
	}
}

func TestTrainJSONKeepsItsContract(t *testing.T) {
	shop(t)
	out := succeed(t, "train", "items.csv", "--label", "category", "--id-column", "sku", "--bits", "4", "--rounds", "10", "-o", "m.hgm", "--json")
	var r map[string]any
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	for _, key := range []string{"model", "fingerprint", "rows", "dims", "seed", "bits", "inference_seconds", "boost_seconds", "total_seconds", "peak_rss_bytes"} {
		if _, ok := r[key]; !ok {
			t.Errorf("train --json has no %q", key)
		}
	}
	bits := r["bits"].([]any)
	if len(bits) != 4 {
		t.Fatalf("%d bits", len(bits))
	}
	for _, key := range []string{"bit", "objective", "inference_seconds", "boost_seconds", "train_error"} {
		if _, ok := bits[0].(map[string]any)[key]; !ok {
			t.Errorf("a bit of train --json has no %q", key)
		}
	}
	out = succeed(t, "eval", "-m", "m.hgm", "--base", "items.csv", "--queries", "new.csv", "--label", "category", "--id-column", "sku", "--json")
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	for _, key := range []string{"queries", "base", "bits", "map", "map_low", "map_high", "map_10000", "precision", "pr_area", "pr_area_10000", "distinct_codes", "warnings"} {
		if _, ok := r[key]; !ok {
			t.Errorf("eval --json has no %q", key)
		}
	}
	if m := r["map"].(float64); m < 0.6 {
		t.Errorf("MAP %v on easy data", m)
	}
	if p := r["precision"].(map[string]any); p["100"] == nil {
		t.Errorf("precision has the keys of %v", p)
	}
}

func TestEncodeChoosesTheFormByName(t *testing.T) {
	shop(t)
	succeed(t, "train", "items.csv", "--label", "category", "--id-column", "sku", "--bits", "19", "--rounds", "10", "-o", "m.hgm")
	encode := func(args ...string) string {
		return succeed(t, append([]string{"encode", "-m", "m.hgm", "items.csv", "--label", "category", "--id-column", "sku"}, args...)...)
	}
	for name, form := range map[string]string{
		"c.hgc": "hgc", "c.bin": "raw", "c.hex": "hex", "c.csv": "csv", "c.jsonl": "jsonl",
	} {
		if encode("-o", name); string(read(t, name)) != encode("--to", form, "-o", "-") {
			t.Errorf("%s is not of the form %s", name, form)
		}
	}
	if r := informed(t, "c.hgc"); r.Codes != 400 || !r.IDs {
		t.Errorf("info says %+v", r)
	}
	lines, short := strings.Fields(string(read(t, "c.hex"))), strings.Fields(encode("--prefix", "8", "--to", "hex", "-o", "-"))
	for i := range short {
		if short[i] != lines[i][:2] {
			t.Fatalf("row %d: prefix %s of %s", i, short[i], lines[i])
		}
	}
}

// TestMistakes checks how mistakes are reported.
func TestMistakes(t *testing.T) {
	shop(t)
	succeed(t, "train", "items.csv", "--label", "category", "--id-column", "sku", "--bits", "4", "--rounds", "5", "-o", "m.hgm")
	write(t, "nan.csv", "a,b,c\n1,2,x\n3,NaN,y\n")
	write(t, "one.csv", "1,2,x\n3,4,x\n")
	damaged := read(t, "m.hgm")
	damaged[len(damaged)/2] ^= 4
	write(t, "damaged.hgm", string(damaged))
	for _, c := range []struct {
		args, want string // see unlike
		is         error
	}{
		{"paint", `2 no-such-verb "paint"`, nil},
		{"train", "2 wrong-arguments train", nil},
		{"train items.csv", "2 missing-flag -o MODEL", nil},
		{"train items.csv --bits many -o x.hgm", `2 - --bits "many"`, nil},
		{"train items.csv --label category --bits 5000 -o x.hgm", "2 - 5000 4096", nil},
		{"train items.csv --label category --depth 9 -o x.hgm", "2 - depth 9 8", nil},
		{"train items.csv --label category --loss soft -o x.hgm", "2 - soft ksh hinge", nil},
		{"train nowhere.csv -o x.hgm", "1 - nowhere.csv", nil},
		{"train one.csv --label 3 -o x.hgm", `1 - "x"`, nil},
		{"train vectors.npy -o x.hgm", "1 - --label --labels --tags --pairs", supervision.ErrNone},
		{"encode -m m.hgm one.csv --label 3 -o x.hgc", "1 wrong-dimensions one.csv 2 12", nil},
		{"encode -m m.hgm vectors.npy -o x.unknown", "2 - x.unknown .hgc .jsonl", nil},
		{"encode -m m.hgm vectors.npy --prefix 9 -o x.hgc", "2 too-many-bits --prefix 9 4", nil},
		{"eval -m m.hgm --base vectors.npy", "2 missing-flag --queries", nil},
		{"eval -m m.hgm --base vectors.npy --queries vectors.npy --neighbours none", "2 no-truth --pairs", nil},
		{"verify damaged.hgm", "1 - damaged.hgm", hamming.ErrDamaged},
		{"info nowhere.hgm", "1 - nowhere.hgm", fs.ErrNotExist},
		{"verify items.csv", "1 - items.csv", nil},
	} {
		o := try(t, strings.Fields(c.args)...)
		if d := o.unlike(c.want, c.is); d != "" || strings.Contains(o.err, "goroutine") {
			t.Errorf("hashgrove %s: %s\n%s", c.args, d, o.err)
		}
		if _, err := os.Stat("x.hgm"); err == nil {
			t.Errorf("hashgrove %s left a model", c.args)
		}
	}
	if o := try(t, strings.Fields("train nan.csv --label c -o x.hgm")...); !o.badRow("nan.csv", 1, "b") {
		t.Errorf("a value that is none: exit %d, %s", o.code, o.err)
	}
	for _, pattern := range []string{"*.tmp*", "x.hgm"} {
		if left, _ := filepath.Glob(pattern); len(left) > 0 {
			t.Errorf("files are left: %v", left)
		}
	}
}

func TestSkipBadSaysHowMany(t *testing.T) {
	shop(t)
	text := string(read(t, "items.csv"))
	write(t, "bad.csv", text+"a,boots,NaN,1,1,1,1,1,1,1,1,1,1,1\nb,boots,1\n")
	o := try(t, "train", "bad.csv", "--label", "category", "--id-column", "sku", "--bits", "4", "--rounds", "5", "--skip-bad", "-o", "m.hgm")
	if o.code != 0 || !strings.Contains(o.err, "2 bad rows") {
		t.Errorf("exit %d\n%s", o.code, o.err)
	}
	if out := succeed(t, "inspect", "bad.csv", "--label", "category", "--id-column", "sku", "--json"); !strings.Contains(out, `"bad_rows": 2`) {
		t.Errorf("inspect says %s", out)
	}
}

func TestEnvironmentSetsFlags(t *testing.T) {
	shop(t)
	t.Setenv("HASHGROVE_BITS", "6")
	if out := succeed(t, "train", "items.csv", "--label", "category", "--id-column", "sku", "--rounds", "5", "-o", "m.hgm"); !strings.Contains(out, "6 bits") {
		t.Errorf("train says %s", out)
	}
	t.Setenv("HASHGROVE_BITS", "six")
	if o := try(t, "train", "items.csv", "-o", "m.hgm"); o.unlike(`2 - HASHGROVE_BITS "six"`) != "" {
		t.Errorf("exit %d, %s", o.code, o.err)
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

func float32LE(x float32) []byte { return binary.LittleEndian.AppendUint32(nil, math.Float32bits(x)) }
