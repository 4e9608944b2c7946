package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hashgrove/internal/method"
)

var update = flag.Bool("update", false, "write the golden file anew")

// TestDigests runs a fixed list of command lines and compares the SHA-256 of what they leave with the golden file, so that
// a change that should alter nothing can be seen to alter nothing:
//
//	model        the bytes of the model file; they name the version that wrote it
//	fingerprint  the hash functions alone
//	codes        what the model makes of rows, most of which it was not trained on
//	form         the same codes in every form of file
//	answer       what search, eval, inspect and train report, without times and sizes
//	pictures     all of these for pictures, and the vectors and extractors of features
//	error        the exit status of command lines that are refused
//
// HASHGROVE_THREADS=1 in the environment runs all of it on another number of threads, which must not matter. Nor must the
// kind of processor: package method has a shorter list that make platforms runs on others.
func TestDigests(t *testing.T) {
	if testing.Short() {
		t.Skip("trains more than a hundred models")
	}
	golden, err := filepath.Abs(filepath.Join("testdata", "digests.golden"))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir()) // paths are relative, so that nothing of the machine gets into a file
	t.Setenv("HASHGROVE_FORCE", "true")
	l := &digestList{t: t, digests: map[string]string{}, refused: map[string]string{}}
	digestItems(t)
	l.methods()
	l.options()
	l.forms()
	l.answers()
	l.group = "pictures/"
	digestPictures(t)
	l.pictures()
	l.features()
	l.pictureAnswers()
	for _, names := range [][]string{
		{"model/classes/fasthash", "model/fasthash/threads-1", "model/fasthash/threads-2"},
		{"model/threads-1/linear", "model/threads-2/linear"},
		{"model/threads-1/agh2", "model/threads-2/agh2"},
		{"model/threads-1/ksh", "model/threads-2/ksh"},
		{"model/threads-1/sdh", "model/threads-2/sdh"},
		{"pictures/model/threads-1", "pictures/model/threads-2"},
	} {
		for _, name := range names {
			if d := l.digests[name]; d == "" || d != l.digests[names[0]] {
				t.Errorf("%s: %q, and %s: %q", name, d, names[0], l.digests[names[0]])
			}
		}
	}
	if *update {
		var b strings.Builder
		for _, name := range slices.Sorted(maps.Keys(l.digests)) {
			fmt.Fprintf(&b, "%s  %s\n", name, l.digests[name])
			if why := l.refused[name]; why != "" {
				t.Logf("%s, %s%s", name, l.digests[name], why)
			}
		}
		if err := os.MkdirAll(filepath.Dir(golden), 0o777); err != nil {
			t.Fatal(err)
		}
		write(t, golden, b.String())
		return
	}
	l.compare(string(read(t, golden)))
}

// digestList collects digests by name.
type digestList struct {
	t       *testing.T
	group   string // before every name
	digests map[string]string
	refused map[string]string // why command lines failed, by the names of their digests
}

// compare reports every name whose digest is not that of the golden file.
func (l *digestList) compare(golden string) {
	want := map[string]string{}
	for line := range strings.Lines(golden) {
		name, digest, ok := strings.Cut(strings.TrimSpace(line), "  ")
		if !ok || want[name] != "" {
			l.t.Errorf("the golden file has the line %q", line)
		}
		want[name] = digest
	}
	names := maps.Clone(want)
	maps.Copy(names, l.digests)
	differ := 0
	for _, name := range slices.Sorted(maps.Keys(names)) {
		was, is := want[name], l.digests[name]
		if was == is {
			continue
		}
		differ++
		switch {
		case was == "":
			l.t.Errorf("%s: is new, %s%s", name, is, l.refused[name])
		case is == "":
			l.t.Errorf("%s: is gone", name)
		default:
			l.t.Errorf("%s: was %s, is %s", name, was, is)
		}
	}
	if differ > 0 {
		l.t.Errorf("%d of %d digests differ; where that is meant, go test -run TestDigests -update writes them anew", differ, len(names))
	}
}

func (l *digestList) enter(name, value string) {
	if l.digests[name] != "" {
		l.t.Errorf("two digests are called %s", name)
	}
	l.digests[name] = value
}

func (l *digestList) put(name string, b []byte) {
	sum := sha256.Sum256(b)
	l.enter(l.group+name, hex.EncodeToString(sum[:]))
}

// execute runs a command line. Of one that fails the exit status is kept and no more, because messages may be reworded.
func (l *digestList) execute(name, line string) (out string, ok bool) {
	l.t.Helper()
	o := try(l.t, append(shellWords(line), "--quiet")...)
	if o.code != 0 {
		name = "error/" + l.group + name
		l.enter(name, fmt.Sprintf("exit %d", o.code))
		l.refused[name] = fmt.Sprintf(": hashgrove %s\n%s", line, o.err)
	}
	return o.out, o.code == 0
}

// text keeps what a command prints.
func (l *digestList) text(name, line string) {
	if out, ok := l.execute(name, line); ok {
		l.put(name, []byte(out))
	}
}

// file keeps a file that a command writes.
func (l *digestList) file(name, line, path string) {
	if _, ok := l.execute(name, line); ok {
		l.put(name, read(l.t, path))
	}
}

// answer keeps what a command prints as JSON, without times and sizes.
func (l *digestList) answer(name, line string) {
	out, ok := l.execute(name, line+" --json")
	if !ok {
		return
	}
	var v any
	d := json.NewDecoder(strings.NewReader(out))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		l.t.Fatalf("%s: %v in %s", name, err, out)
	}
	if m, ok := v.(map[string]any); ok && m["rank"] == "hamming" {
		delete(m, "rank") // answers did not always say it
	}
	b, err := json.MarshalIndent(timeless(v), "", " ")
	if err != nil {
		l.t.Fatal(err)
	}
	l.put(name, b)
}

// measured is a time or a ratio of times in a sentence.
var measured = regexp.MustCompile(`\d+(\.\d+)? (us|ms|s|times the speed)\b`)

// timeless removes what another run or another machine changes: times, and sizes in memory and of files.
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
	case string:
		return measured.ReplaceAllString(v, "so long")
	}
	return v
}

// modelFile is where the model of a name is.
func modelFile(name string) string { return strings.ReplaceAll(name, "/", "-") + ".hgm" }

// model trains, and keeps the model, its fingerprint and the codes of the data.
func (l *digestList) model(name, train, encode string) {
	path := modelFile(name)
	if !strings.Contains(train, "--validation") {
		train += " --validation 0" // what is learned from all rows
	}
	if _, ok := l.execute("model/"+name, "train "+train+" -o "+path); !ok {
		return
	}
	l.put("model/"+name, read(l.t, path))
	var r struct {
		Fingerprint string `json:"fingerprint"`
	}
	if err := json.Unmarshal([]byte(succeed(l.t, "info", path, "--json")), &r); err != nil || r.Fingerprint == "" {
		l.t.Fatalf("%s has the fingerprint %q: %v", path, r.Fingerprint, err)
	}
	l.put("fingerprint/"+name, []byte(r.Fingerprint))
	l.file("codes/"+name, "encode -m "+path+" "+encode+" -o codes.npy", "codes.npy")
}

// The items as files: what every command line about them has in common.
const (
	fromClasses = "items.csv --label category --id-column sku"
	fromTags    = "items.npy --tags items.tags.txt"
	fromPairs   = "items.npy --pairs pairs.csv"
	fewTrees    = " --bits 8 --rounds 10"
)

// vectors trains on items and encodes new ones.
func (l *digestList) vectors(name, train string) { l.model(name, train, "new.npy") }

// methods trains every method from every supervision; a method refuses what it cannot learn from.
func (l *digestList) methods() {
	l.vectors("classes/fasthash", fromClasses+fewTrees)
	l.vectors("tags/fasthash", fromTags+fewTrees)
	l.vectors("classes/held-out", fromClasses+fewTrees+" --validation 0.1")
	l.vectors("tags/held-out", fromTags+" --bits 8 --method cca-itq --validation 0.1")
	l.vectors("pairs/fasthash", fromPairs+fewTrees)
	for _, name := range method.Names() {
		if name == method.FastHash {
			continue // above, with fewer trees
		}
		train := " --bits 8 --method " + name
		l.vectors("classes/"+name, fromClasses+train)
		if d, _ := method.Describe(name); d.Supervised {
			l.vectors("tags/"+name, fromTags+train)
			l.vectors("pairs/"+name, fromPairs+train)
		}
	}
}

// options trains with the options of FastHash, then with those of the other methods.
func (l *digestList) options() {
	for _, c := range [][2]string{
		{"learner-linear", "--learner linear"}, {"svm-c", "--learner linear --svm-c 1"},
		{"inference-icm", "--inference icm"}, {"inference-spectral", "--inference spectral"}, {"sweeps", "--sweeps 1"},
		{"loss-bre", "--loss bre"}, {"loss-hinge", "--loss hinge"}, {"order-tsh", "--order tsh"},
		{"balance-auto", "--balance auto"}, {"balance-3-1", "--balance 3:1"}, {"balance-1-4", "--balance 1:4"},
		{"sample", "--sample-similar 10 --sample-dissimilar 15"},
		{"node-rows", "--node-rows 40"}, {"node-features", "--node-features 3"}, {"min-node", "--min-node 20"}, {"depth", "--depth 2"},
		{"trim", "--trim 0.8"}, {"equal-row-weights", "--equal-row-weights"},
		{"hold-out", "--hold-out boots"},
		{"seed-7", "--seed 7"}, {"threads-1", "--threads 1"}, {"threads-2", "--threads 2"},
		{"pca", "--pca 4"},
	} {
		l.vectors("fasthash/"+c[0], fromClasses+fewTrees+" "+c[1])
	}
	base := modelFile("classes/fasthash")
	l.vectors("fasthash/grow", fromClasses+" --bits 12 --rounds 10 --grow "+base)
	l.vectors("fasthash/grow-other-rounds", fromClasses+" --bits 12 --rounds 5 --grow "+base)
	l.vectors("fasthash/npy", "items.npy --labels items.labels.txt"+fewTrees)
	l.vectors("fasthash/tags-min-shared-1", fromTags+fewTrees+" --min-shared 1")
	l.vectors("fasthash/tags-balance-1-1", fromTags+fewTrees+" --balance 1:1")
	l.vectors("fasthash/tags-sample", fromTags+fewTrees+" --sample-similar 10 --sample-dissimilar 10 --inference icm")
	l.vectors("fasthash/pairs-by-id", fromClasses+" --pairs pairs-by-id.csv"+fewTrees)
	l.vectors("fasthash/pairs-balance-auto", fromPairs+fewTrees+" --balance auto")
	l.vectors("fasthash/pairs-icm", fromPairs+fewTrees+" --inference icm --loss hinge")
	for _, c := range [][2]string{
		{"lsh", "--pca 5"}, {"pca-itq", "--seed 7"}, {"agh", "--anchors 40"}, {"agh2", "--anchors 40 --pca 6"}, {"spherical", "--pca 5"},
		{"mdsh", "--pca 4"}, {"ksh", "--anchors 30 --rows 200"}, {"tsh", "--rows 150"}, {"tsh-kernel", "--anchors 30"},
		{"tsh-budgeted", "--rows 150"}, {"bre", "--rows 100"}, {"splh", "--rows 100"}, {"sth-kernel", "--anchors 30 --pca 5"},
		{"cca-itq", "--rows 200"}, {"sdh", "--anchors 30 --seed 7"}, {"fsdh", "--rows 200"}, {"classifier", "--hold-out hats"},
	} {
		l.vectors("options/"+c[0], fromClasses+" --bits 8 --method "+c[0]+" "+c[1])
	}
	l.vectors("options/ksh-min-shared-1", fromTags+" --bits 8 --method ksh --min-shared 1")
	l.vectors("options/rounds", fromClasses+" --bits 8 --method ksh --rounds 5")
	for _, threads := range []string{"1", "2"} {
		l.vectors("threads-"+threads+"/linear", fromClasses+fewTrees+" --learner linear --threads "+threads)
		for _, name := range []string{"agh2", "ksh", "sdh"} {
			l.vectors("threads-"+threads+"/"+name, fromClasses+" --bits 8 --threads "+threads+" --method "+name)
		}
	}
}

// someModels are models of each kind, of different lengths.
var someModels = []string{"trees", "linear", "ksh", "agh2", "spherical", "mdsh", "classifier"}

// forms writes codes of 19 bits in every form.
func (l *digestList) forms() {
	for _, name := range someModels {
		method := " --method " + name
		switch name {
		case "trees":
			method = " --rounds 10"
		case "linear":
			method = " --learner linear"
		}
		l.vectors("some/"+name, fromClasses+" --bits 19"+method)
		encode := "encode -m " + modelFile("some/"+name) + " new.csv --label category --id-column sku "
		for _, form := range []string{"npy", "hgc", "hex", "csv", "raw"} {
			l.file("form/"+name+"/"+form, encode+"--to "+form+" -o codes."+form, "codes."+form)
		}
		l.text("form/"+name+"/prefix", encode+"--prefix 11 --to hex -o -")
		l.file("form/"+name+"/prefix.hgc", encode+"--prefix 5 -o codes.hgc", "codes.hgc")
	}
}

func (l *digestList) answers() {
	for _, name := range someModels {
		idx := name + ".hgi"
		l.answer("answer/index/"+name, "index build -o "+idx+" "+fromClasses+" --tags items.tags.txt --attributes items.csv --attribute-columns f0,f1 -m "+modelFile("some/"+name))
		l.search(name, idx, "items.csv --rerank-id-column sku --rerank-label category", "new.csv --label category --id-column sku")
		data := "eval -m " + modelFile("some/"+name) + " --base items.csv --queries new.csv --label category --id-column sku"
		l.answer("answer/eval/"+name+"/class", data)
		l.answer("answer/eval/"+name+"/prefix", data+" --prefix 6 --precision-at 1,7 --cut 50")
		l.answer("answer/eval/"+name+"/weighted", data+" --ranking weighted")
	}
	l.answer("answer/eval/weighted-prefix", "eval -m some-mdsh.hgm --base items.csv --queries new.csv --label category --id-column sku --ranking weighted --prefix 6")
	l.answer("answer/eval/hold-out", "eval -m fasthash-hold-out.hgm --base items.csv --queries new.csv --label category --id-column sku")
	for _, name := range []string{"fasthash", "ksh", "cca-itq"} {
		data := " --base items.npy --queries new.npy"
		l.answer("answer/eval/"+name+"/tags", "eval -m "+modelFile("tags/"+name)+data+" --base-tags items.tags.txt --queries-tags new.tags.txt")
		l.answer("answer/eval/"+name+"/tags-min-shared-1", "eval -m "+modelFile("tags/"+name)+data+" --base-tags items.tags.txt --queries-tags new.tags.txt --min-shared 1")
		l.answer("answer/eval/"+name+"/pairs", "eval -m "+modelFile("classes/"+name)+data+" --pairs between.csv")
	}

	// Changes of an index, then an answer.
	l.answer("answer/changes/add", "index add trees.hgi new.csv --label category --id-column sku")
	l.answer("answer/changes/upsert", "index add trees.hgi new.csv --label category --id-column sku --upsert --attributes new.csv --attribute-columns f2")
	l.answer("answer/changes/delete", `index delete trees.hgi --where 'label = "hats" and f0 > 1'`)
	l.answer("answer/changes/search", "search trees.hgi new.csv --row 1,2,3 -k 40")
	l.answer("answer/changes/info", "info trees.hgi")
	l.execute("codes of items", "encode -m some-trees.hgm "+fromClasses+" -o items.hgc")
	l.answer("answer/changes/build-from-codes", "index build items.hgc -o codes.hgi")
	l.answer("answer/changes/search-by-codes", "search codes.hgi items.hgc --row 5,6 -k 12")

	for name, data := range map[string]string{"classes": fromClasses, "tags": fromTags, "pairs": fromPairs} {
		l.answer("answer/inspect/"+name, "inspect "+data)
		l.answer("answer/train/"+name, "train "+data+fewTrees+" --validation 0 --restart -o report.hgm")
		l.answer("answer/info/"+name, "info "+modelFile(name+"/fasthash"))
	}
	l.answer("answer/train/ksh", "train "+fromClasses+" --bits 8 --method ksh --validation 0 -o report.hgm")
	l.answer("answer/train/held-out", "train "+fromClasses+fewTrees+" --restart -o report.hgm")
	l.answer("answer/train/held-out-tags", "train "+fromTags+" --method sdh --bits 8 -o report.hgm")
	l.answer("answer/info/ksh", "info "+modelFile("classes/ksh"))
	l.answer("answer/info/mdsh", "info "+modelFile("classes/mdsh"))
}

// search asks an index in many ways. Items names the vectors for --rerank; queries is the data to search for.
func (l *digestList) search(name, idx, items, queries string) {
	for _, c := range [][2]string{
		{"k", "-k 12"}, {"radius", "--radius 4"}, {"radius-k", "--radius 6 -k 5"}, {"row", "--row 3,7"},
		{"where", `-k 7 --where 'label in ("boots", "hats") and f0 < 1 and not tag = "sale"'`},
		{"prefix", "--prefix 6"}, {"prefix-shortlist", "--prefix 6 --shortlist 30 -k 8"},
		{"margins", "-k 12 --margins"}, {"scan", "-k 12 --strategy scan"}, {"tables", "-k 12 --strategy tables"},
		{"explain", "--explain --row 0,1"}, {"rerank-euclidean", "--rerank " + items}, {"rerank-cosine", "--rerank-by cosine --rerank " + items},
		{"rerank-explain", "--row 0,1 --explain --margins --rerank " + items}, {"rerank-none", "--row 0,1 --explain --rerank-by none --rerank " + items},
	} {
		l.answer("answer/search/"+name+"/"+c[0], "search "+idx+" "+queries+" "+c[1])
	}
	l.answer("answer/search/"+name+"/id", "search "+idx+" --id items-17 --id items-4 -k 9")
	l.answer("answer/search/"+name+"/id-rerank", "search "+idx+" --id items-17 -k 9 --rerank "+items)
	l.answer("answer/search/"+name+"/code", "search "+idx+" --code ff00e0 --code 0f0f00")
	l.text("answer/search/"+name+"/csv", "search "+idx+" "+queries+" -k 4 --to csv")
	l.text("answer/search/"+name+"/fields", "search "+idx+" "+queries+" -k 4 --to csv --fields query,rank,id,distance,tags,f1")
}

// The flags of pictures: those that make vectors of them, which every verb takes, and those of train alone.
var pictureModels = []struct{ name, flags, train string }{
	{"plain", "", ""},
	{"grey", "--grey", ""},
	{"size", "--size 12", ""},
	{"squash", "--fit squash", ""},
	{"size-squash-grey", "--size 12 --fit squash --grey", ""},
	{"gist320", "", "--features gist320"},
	{"gist320-squash", "--fit squash", "--features gist320"},
	{"gist320-size-grey", "--size 24 --grey", "--features gist320"},
	{"gist512", "--size 24", "--features gist512"},
	{"pixels", "", "--features pixels"},
	{"pixels-size-squash", "--size 10 --fit squash", "--features pixels"},
	{"mirror-gist320", "", "--features gist320 --mirror"},
	{"mirror-pixels", "--size 10 --grey", "--features pixels --mirror"},
	{"mirror-average", "--size 10", "--features pixels --mirror --mirror-average"},
	{"augment", "--size 10", "--features pixels --augment mirror,shift,crop"},
	{"linear", "--size 10", "--learner linear"},
	{"hold-out", "--size 10", "--hold-out dots"},
	{"labels", "--size 10 --fit squash", "--labels photos.labels.csv"},
	{"tags", "--size 10", "--tags photos.tags.csv --min-shared 1"},
	{"pairs", "--size 10", "--pairs photos.pairs.csv"},
	{"mirror-alone", "", "--mirror"},
	{"threads-1", "", "--features gist320 --threads 1"},
	{"threads-2", "", "--features gist320 --threads 2"},
}

func (l *digestList) pictures() {
	for _, m := range pictureModels {
		l.model(m.name, "photos"+fewTrees+" "+m.flags+" "+m.train, "photos album "+m.flags)
	}
	l.model("lsh", "photos --bits 8 --method lsh --grey", "photos album --grey")
	l.model("lsh-gist320", "photos --bits 8 --method lsh --features gist320 --fit squash", "photos album --fit squash")
	l.model("ksh-pixels", "photos --bits 8 --method ksh --features pixels --mirror --size 10 --anchors 10", "photos album --size 10")
	l.model("classifier-pixels", "photos --bits 8 --method classifier --features pixels --size 10", "photos album --size 10")
	const train, query = "idx/train-images-idx3-ubyte", "idx/query-images-idx3-ubyte"
	l.model("idx", train+fewTrees, query)
	l.model("idx-size-gist320", train+fewTrees+" --size 32 --features gist320", query+" --size 32")
	l.model("idx-pixels-mirror", train+fewTrees+" --features pixels --mirror", query)
	l.file("form/ids.csv", "encode -m plain.hgm album -o codes.csv", "codes.csv")
	l.file("form/ids.hgc", "encode -m gist320.hgm album -o codes.hgc", "codes.hgc")
	l.model("one-picture", "photos"+fewTrees+" --size 10", "photos/dots/0.png --size 10")
}

func (l *digestList) features() {
	for _, c := range [][2]string{
		{"gist", "--kind gist320"},
		{"gist-float16", "--kind gist320 --type float16 --fit squash"},
		{"pixels", "--kind pixels"},
		{"pixels-uint8", "--kind pixels --type uint8 --size 10 --fit squash"},
		{"pixels-grey", "--kind pixels --grey --size 9"},
	} {
		name := "features/" + c[0]
		l.file(name+".npy", "features photos "+c[1]+" -o "+c[0]+".npy", c[0]+".npy")
		for _, kind := range []string{".labels.txt", ".ids.txt"} {
			l.put(name+kind, read(l.t, c[0]+kind))
		}
	}
	l.model("from-vectors", "gist.npy --labels gist.labels.txt"+fewTrees, "gist-float16.npy")
}

func (l *digestList) pictureAnswers() {
	for _, name := range []string{"plain", "size-squash-grey", "gist320", "mirror-pixels", "lsh-gist320"} {
		flags := map[string]string{"size-squash-grey": "--size 12 --fit squash --grey", "mirror-pixels": "--size 10 --grey", "lsh-gist320": "--fit squash"}[name]
		idx := name + ".hgi"
		l.answer("answer/index/"+name, "index build -o "+idx+" photos "+flags+" -m "+modelFile(name))
		l.answer("answer/search/"+name+"/k", "search "+idx+" album "+flags)
		l.answer("answer/search/"+name+"/one", "search "+idx+" album/dots/1.png -k 5 "+flags)
		l.answer("answer/search/"+name+"/id", "search "+idx+" --id photos/dots/0.png -k 5")
		l.answer("answer/search/"+name+"/where", `search `+idx+` album --where 'label = "stripes"' `+flags)
		l.answer("answer/search/"+name+"/rerank", "search "+idx+" album --row 0,4 --rerank photos --explain "+flags)
		l.answer("answer/eval/"+name, "eval -m "+modelFile(name)+" --base photos --queries album "+flags)
	}
	l.answer("answer/inspect/plain", "inspect photos")
	l.answer("answer/inspect/size-squash-grey", "inspect photos --size 12 --fit squash --grey")
	l.answer("answer/inspect/tags", "inspect photos --size 10 --tags photos.tags.csv --min-shared 1")
	l.answer("answer/inspect/idx", "inspect idx/train-images-idx3-ubyte")
	for _, name := range []string{"plain", "mirror-gist320"} {
		l.answer("answer/info/"+name, "info "+modelFile(name))
	}
}
