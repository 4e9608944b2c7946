package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hashgrove/internal/method"
	"hashgrove/internal/testkit/needs"
)

var update = flag.Bool("update", false, "write the golden file anew")

// TestDigests runs a fixed list of command lines and compares the SHA-256 of what they leave with the golden file, so that
// a change that should alter nothing can be seen to alter nothing: the model of every method, each format of codes and
// features, and what each ranking answers. HASHGROVE_THREADS=1 in the environment runs it on another number of threads,
// which must not matter. Nor must the kind of processor: package method has a list that make platforms runs on others.
func TestDigests(t *testing.T) {
	needs.Check(t, "trains many models")
	golden, err := filepath.Abs(filepath.Join("testdata", "digests.golden"))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir()) // paths are relative, so that nothing of the machine gets into a file
	t.Setenv("HASHGROVE_FORCE", "true")
	l := &digestList{t: t, digests: map[string]string{}}
	digestItems(t)
	digestPictures(t)
	l.models()
	l.forms()
	l.pictures()
	l.rankings()
	if *update {
		var b strings.Builder
		for _, name := range slices.Sorted(maps.Keys(l.digests)) {
			fmt.Fprintf(&b, "%s  %s\n", name, l.digests[name])
		}
		write(t, golden, b.String())
		return
	}
	l.compare(string(read(t, golden)))
}

// digestList collects digests by name.
type digestList struct {
	t       *testing.T
	digests map[string]string
}

// compare reports every name whose digest is not that of the golden file.
func (l *digestList) compare(golden string) {
	want := map[string]string{}
	for line := range strings.Lines(golden) {
		name, digest, _ := strings.Cut(strings.TrimSpace(line), "  ")
		want[name] = digest
	}
	names := maps.Clone(want)
	maps.Copy(names, l.digests)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if was, is := want[name], l.digests[name]; was != is {
			l.t.Errorf("%s: was %q, is %q; where that is meant, go test -run TestDigests -update writes it anew", name, was, is)
		}
	}
}

func (l *digestList) put(name string, b []byte) {
	sum := sha256.Sum256(b)
	l.digests[name] = hex.EncodeToString(sum[:])
}

func (l *digestList) execute(line string) string {
	l.t.Helper()
	return succeed(l.t, append(shellWords(line), "--quiet")...)
}

// file keeps a file that a command writes.
func (l *digestList) file(name, line, path string) {
	l.t.Helper()
	l.execute(line)
	l.put(name, read(l.t, path))
}

// model keeps a model that learns from all rows.
func (l *digestList) model(name, train string) {
	l.t.Helper()
	path := modelFile(name)
	l.file(name, "train "+train+" --validation 0 -o "+path, path)
}

// modelFile is where the model of a name is.
func modelFile(name string) string { return strings.ReplaceAll(name, "/", "-") + ".hgm" }

// answer keeps what a command prints as JSON, without times and sizes, which another run or another machine changes.
func (l *digestList) answer(name, line string) {
	l.t.Helper()
	var v map[string]any
	d := json.NewDecoder(strings.NewReader(l.execute(line + " --json")))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		l.t.Fatalf("%s: %v", name, err)
	}
	if v["rank"] == "hamming" {
		delete(v, "rank") // answers did not always say it
	}
	b, err := json.MarshalIndent(timeless(v), "", " ")
	if err != nil {
		l.t.Fatal(err)
	}
	l.put(name, b)
}

// timeless removes times, and sizes in memory and of files.
func timeless(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key := range v {
			if strings.Contains(key, "seconds") || strings.HasSuffix(key, "_bytes") || strings.Contains(key, "_bytes_") || key == "memory" {
				delete(v, key)
			} else {
				v[key] = timeless(v[key])
			}
		}
	case []any:
		for i := range v {
			v[i] = timeless(v[i])
		}
	}
	return v
}

// The items as files: what every command line about them has in common.
const (
	fromClasses = "items.csv --label category --id-column sku"
	fewTrees    = " --bits 8 --rounds 10"
)

// models trains every method, and FastHash from every supervision and with each learner and loss.
func (l *digestList) models() {
	for _, name := range method.Names() {
		train := fromClasses + " --bits 8 --method " + name
		if name == method.FastHash {
			train = fromClasses + fewTrees
		}
		l.model("model/classes/"+name, train)
	}
	l.model("model/tags/fasthash", "items.npy --tags items.tags.txt"+fewTrees)
	l.model("model/pairs/fasthash", "items.npy --pairs pairs.csv"+fewTrees)
	l.model("model/fasthash/learner-linear", fromClasses+fewTrees+" --set learner=linear")
	l.model("model/fasthash/loss-hinge", fromClasses+fewTrees+" --loss hinge")
	l.model("model/fasthash/grow", fromClasses+" --bits 12 --rounds 10 --grow "+modelFile("model/classes/fasthash"))
}

// forms writes codes of 19 bits from an encoder of each kind, and those of trees in every form.
func (l *digestList) forms() {
	for _, c := range [][2]string{
		{"trees", "--rounds 10"}, {"linear", "--set learner=linear"}, {"ksh", "--method ksh"}, {"agh2", "--method agh2"},
		{"spherical", "--method spherical"}, {"mdsh", "--method mdsh"}, {"classifier", "--method classifier"},
	} {
		name, model := c[0], modelFile("some/"+c[0])
		l.execute("train " + fromClasses + " --bits 19 --validation 0 " + c[1] + " -o " + model)
		for _, form := range []string{"npy", "hgc", "csv"} {
			if form == "npy" || name == "trees" {
				l.file("form/"+name+"/"+form,
					"encode -m "+model+" new.csv --label category --id-column sku --to "+form+" -o codes."+form, "codes."+form)
			}
		}
	}
}

// pictures makes vectors and models of pictures.
func (l *digestList) pictures() {
	l.model("pictures/model/plain", "photos"+fewTrees)
	l.execute("index build -o photos.hgi photos -m " + modelFile("pictures/model/plain"))
	l.answer("pictures/answer/rerank", "search photos.hgi photos --row 0,4 --rerank photos --explain")
	l.model("pictures/model/mirror-gist320", "photos"+fewTrees+" --features gist320 --mirror")
	l.file("pictures/features/gist.npy", "features photos --kind gist320 -o gist.npy", "gist.npy")
}

// rankings asks an index in each way to rank.
func (l *digestList) rankings() {
	model := modelFile("some/trees")
	l.execute("index build -o trees.hgi " + fromClasses +
		" --tags items.tags.txt --attributes items.csv --attribute-columns f0,f1 -m " + model)
	for _, c := range [][2]string{
		{"k", "-k 12"}, {"radius", "--radius 4"}, {"rank-margins", "-k 12 --rank margins"},
		{"rank-expected", "-k 12 --rank expected"},
		{"where", `-k 7 --where 'label in ("boots", "hats") and f0 < 1 and not tag = "sale"'`},
		{"rerank-euclidean", "--rerank items.csv"},
	} {
		l.answer("answer/search/trees/"+c[0], "search trees.hgi new.csv --label category --id-column sku "+c[1])
	}
	eval := " --base items.csv --queries new.csv --label category --id-column sku"
	l.answer("answer/eval/trees/class", "eval -m "+model+eval)
	l.answer("answer/eval/mdsh/weighted", "eval -m "+modelFile("some/mdsh")+eval+" --rank weighted")
}
