package workshop

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"hashgrove/api"
	"hashgrove/internal/dataset"
	"hashgrove/internal/model"
	"hashgrove/server"
)

// bench is a server with a workshop.
type bench struct {
	t *testing.T
	*Workshop
	url string
}

func newBench(t *testing.T, o Options) *bench {
	t.Helper()
	s, err := server.New(t.Context(), server.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, Workshop: New(s, o)}
	web := httptest.NewServer(s.Handler())
	t.Cleanup(func() {
		web.Close()
		if err := errors.Join(b.Close(), s.Close()); err != nil {
			t.Error(err)
		}
	})
	b.url = web.URL
	return b
}

// ask sends a request and returns status and body.
func (b *bench) ask(method, path string, body io.Reader) (int, []byte) {
	b.t.Helper()
	r, err := http.NewRequest(method, b.url+path, body)
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json") // of uploads it does not matter
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return answer.StatusCode, text
}

// must sends a request that must be accepted, and reads the job that it answers with.
func (b *bench) must(method, path, body string) (j Job) {
	b.t.Helper()
	b.get(&j, method, path, body)
	return j
}

// get sends a request that must be accepted, and reads its answer.
func (b *bench) get(v any, method, path, body string) {
	b.t.Helper()
	status, text := b.ask(method, path, strings.NewReader(body))
	if status/100 != 2 {
		b.t.Fatalf("%s %s: %d %s", method, path, status, text)
	}
	if err := json.Unmarshal(text, v); err != nil {
		b.t.Fatalf("%s: %v", text, err)
	}
}

// collections are the names of those that can be searched.
func (b *bench) collections() []string {
	var a api.Server
	b.get(&a, "GET", "/v1/server", "")
	return a.Collections
}

// matches returns the items of a collection that a filter lets through.
func (b *bench) matches(collection, where string) []api.Item {
	var a api.ItemsPage
	b.get(&a, "GET", "/v1/collections/"+collection+"/items?where="+url.QueryEscape(where), "")
	return a.Items
}

// refused sends a request that must be refused with the status, the code and a message that names all the facts. Without
// a code it is refused by someone else than the workshop.
func (b *bench) refused(status int, method, path, body string, facts ...string) {
	b.t.Helper()
	got, text := b.ask(method, path, strings.NewReader(body))
	var answer struct {
		Error struct {
			Status  int
			Message string
		}
	}
	if err := json.Unmarshal(text, &answer); err != nil || got != status || answer.Error.Status != status {
		b.t.Errorf("%s %s: %d %s, want %d", method, path, got, text, status)
		return
	}
	for _, fact := range facts {
		if !strings.Contains(answer.Error.Message, fact) {
			b.t.Errorf("%s %s: %q does not name %q", method, path, answer.Error.Message, fact)
		}
	}
	if strings.Contains(answer.Error.Message, b.dir) {
		b.t.Errorf("the message names a folder of the machine: %s", answer.Error.Message)
	}
}

// try uploads a file and trains on it.
func (b *bench) try(name, content string) Job {
	b.t.Helper()
	j := b.must("POST", "/v1/try?name="+name, content)
	b.must("POST", "/v1/try/"+j.ID+"/train", `{"bits":8}`)
	return j
}

// wait asks for a job until it is in one of the states.
func (b *bench) wait(id string, states ...string) (j Job) {
	b.t.Helper()
	until(b.t, fmt.Sprintf("job %s in the state %v", id, states), func() bool {
		if j = b.must("GET", "/v1/try/"+id, ""); slices.Contains(states, j.State) {
			return true
		}
		if j.State == stateFailed {
			b.t.Fatalf("failed: %s", j.Message)
		}
		return false
	})
	return j
}

// until waits for a condition. A busy machine may need long for what takes a moment otherwise.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for began := time.Now(); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > 5*time.Minute {
			t.Fatalf("%v have passed without %s", time.Since(began), what)
		}
	}
}

// folders are those of jobs.
func (b *bench) folders() (list []string) {
	found, err := os.ReadDir(b.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		b.t.Fatal(err)
	}
	for _, e := range found {
		if e.IsDir() { // beside them is a lock
			list = append(list, e.Name())
		}
	}
	return list
}

// flowers is a table of n rows in three kinds, as iris has them.
func flowers(n int) string {
	var s strings.Builder
	s.WriteString("id,sepal,petal,colour,species\n")
	for i := range n {
		k := i % 3
		fmt.Fprintf(&s, "f%d,%d.%d,%.2f,%s,%s\n", i, 4+k, i*7%10, float64(k)+float64(i*13%17)/20,
			[]string{"red", "blue", "white", "pink"}[i%4], []string{"setosa", "versicolor", "virginica"}[k])
	}
	return s.String()
}

func TestATableBecomesACollection(t *testing.T) {
	b := newBench(t, Options{})
	j := b.must("POST", "/v1/try?name=flowers.csv", flowers(150))
	if j.State != stateUploaded || j.Rows != 150 || j.Format != "csv" || j.Label != "species" || j.Bits != defaultBits {
		t.Errorf("%+v", j)
	}
	if len(j.Sample) != sampleRows || j.Sample[0][4] != "setosa" {
		t.Errorf("%q", j.Sample)
	}
	b.must("POST", "/v1/try/1/train", `{"label":"species","bits":8}`)
	j = b.wait("1", stateDone)
	if j.Collection != "try-1" || j.Progress != 1 {
		t.Fatalf("%+v", j)
	}
	var d api.Description
	b.get(&d, "GET", "/v1/collections/try-1", "")
	if d.Items != 150 || d.Bits != 8+2 || d.DetailBits != 2 || !d.Vectors { // a bit of detail for each column
		t.Errorf("%+v", d)
	}
	if hits := b.matches("try-1", `label = "setosa" and colour = "red" and petal < 1 and id = "f0"`); len(hits) != 1 {
		t.Errorf("%+v", hits)
	}
	var m struct{ Info model.Info }
	b.get(&m, "GET", "/v1/collections/try-1/model", "")
	if !slices.Equal(m.Info.Features, []string{"sepal", "petal"}) {
		t.Errorf("%q", m.Info.Features)
	}
	b.must("DELETE", "/v1/try/1", "")
	b.refused(404, "GET", "/v1/try/1", "", `"1"`)
	if len(b.collections()) != 0 || len(b.folders()) != 0 {
		t.Errorf("%v and %v are left", b.collections(), b.folders())
	}
}

// npy is an array of float32 as numpy writes it.
func npy(rows, cols int, value func(i, j int) float32) string {
	head := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }", rows, cols)
	head += strings.Repeat(" ", 117-len(head)) + "\n"
	var out bytes.Buffer
	fmt.Fprintf(&out, "\x93NUMPY\x01\x00%c%c%s", len(head), 0, head)
	for i := range rows {
		for j := range cols {
			out.Write(float32Bytes(value(i, j)))
		}
	}
	return out.String()
}

func TestNpyTakesLabels(t *testing.T) {
	b := newBench(t, Options{})
	j := b.must("POST", "/v1/try?name=v.npy", npy(60, 3, func(i, j int) float32 { return float32(i%2*10 + i*j%7) }))
	if j.Rows != 60 || j.Dims != 3 || !j.LabelsNeeded {
		t.Errorf("%+v", j)
	}
	b.refused(400, "POST", "/v1/try/1/train", "{}", "v.npy", "60")
	b.refused(400, "POST", "/v1/try/1/labels", "a\nb\n", " 2 ", " 60 ")
	b.refused(400, "POST", "/v1/try/1/labels", "")
	b.refused(400, "POST", "/v1/try/1/labels", "\x00\x01\x02")
	b.refused(400, "POST", "/v1/try/1/train", "{}")
	if j = b.must("POST", "/v1/try/1/labels", strings.Repeat("a\nb\n", 30)); j.LabelsNeeded {
		t.Error("labels are still needed")
	}
	b.refused(400, "POST", "/v1/try/1/train", `{"label":"a"}`, `"a"`)
	b.must("POST", "/v1/try/1/train", "{}")
	b.wait("1", stateDone)

	b.must("POST", "/v1/try?name=flowers.csv", flowers(60))
	b.refused(409, "POST", "/v1/try/2/labels", "a\n", "flowers.csv")
}

func TestPicturesBecomeACollection(t *testing.T) {
	b := newBench(t, Options{})
	files := map[string][]byte{"pets/readme.txt": []byte("hello"), "__MACOSX/pets/._1.png": []byte("x")}
	for i := range 60 {
		files[fmt.Sprintf("pets/%s/IMG %d.PNG", []string{"cat, black", "dog"}[i%2], i)] = stripes(i%2 == 0, i)
	}
	j := b.try("pets.zip", zipOf(t, files))
	if j.Format != formatPictures || j.Rows != 60 || j.Classes != 2 {
		t.Errorf("%+v", j)
	}
	j = b.wait("1", stateDone)
	var d api.Description
	b.get(&d, "GET", "/v1/collections/try-1", "")
	hits := b.matches("try-1", `label = "cat, black"`)
	if !d.Pictures || !d.Vectors || d.Takes != "pictures" || len(hits) != 30 {
		t.Fatalf("%+v, %d hits", d, len(hits))
	}
	for _, h := range hits {
		if !strings.HasPrefix(string(h.ID), "pets/cat, black/IMG ") {
			t.Errorf("%q", h.ID)
		}
	}
}

func TestRefusals(t *testing.T) {
	b := newBench(t, Options{MaxBytes: 2 << 20})
	up := func(name, content string, facts ...string) {
		t.Helper()
		b.refused(400, "POST", "/v1/try?name="+url.QueryEscape(name), content, facts...)
	}
	rows := func(n int, row string) string { return strings.Repeat(row+"\n", n) }
	up("a.csv", "")
	up("a.csv", "\n\n", "a.csv")
	up("a.csv", flowers(10), "10")
	up("a.csv.gz", "\x1f\x8b\x08\x00", "a.csv.gz")
	up("a.png", string(stripes(true, 1)), "a.png")
	up("a.parquet", "PAR1xxxx", "a.parquet")
	up("a.csv", "\xff\xfea\x00", "UTF-16", "UTF-8")
	up("a.exe", "MZ\x00\x01\x02", "a.exe", "CSV")
	up("a.json", "[1,2]\n[3,4]\n", "a.json")
	up("a.csv", "name,kind\n"+rows(50, "x,a")+rows(50, "y,b"), "a.csv", "number")
	up("a.csv", `a,b`+"\n"+`"x,1`+"\n"+rows(60, "1,2"), "a.csv", " 2", "quote")
	up("a.csv", "a,b\n"+strings.Repeat("1,", 1<<19), "1 MiB")
	up("a.zip", "PK\x03\x04 nothing else")
	up("a.npy", "\x93NUMPY\x01\x00", "a.npy")
	b.refused(413, "POST", "/v1/try?name=a.csv", strings.Repeat("1,2\n", 1<<20), "2097152")
	if len(b.folders()) != 0 {
		t.Errorf("%v are left", b.folders())
	}
	b.refused(404, "GET", "/v1/try/7", "", `"7"`)
	b.refused(405, "PUT", "/v1/try", "", "PUT")
}

func TestRefusalsOfATraining(t *testing.T) {
	b := newBench(t, Options{})
	table := flowers(60)
	b.must("POST", "/v1/try?name=..%2F..%2Fetc%2Fpasswd.csv", table)
	if j := b.must("GET", "/v1/try/1", ""); j.Name != "passwd.csv" {
		t.Errorf("%q", j.Name)
	}
	train := func(body string, facts ...string) {
		t.Helper()
		b.refused(400, "POST", "/v1/try/1/train", body, facts...)
	}
	train(`{"label":"no"}`, `"no"`)
	train(`{"bits":3}`, " 3 ")
	train(`{"bit":3}`, `"bit"`)
	train(`{}{}`)
	b.refused(409, "POST", "/v1/try/1/cancel", "", "passwd.csv")
	if j := b.must("GET", "/v1/try/1", ""); j.State != stateUploaded {
		t.Errorf("%+v", j)
	}
	broken := strings.Replace(strings.Replace(table, "f7,5.", "f7,NaN,5.", 1), "f9,4.3", "f9,NaN", 1)
	b.must("POST", "/v1/try?name=nan.csv", broken)
	b.must("POST", "/v1/try/2/train", `{"bits":4}`)
	if j := b.wait("2", stateDone); !strings.Contains(j.Message, " 2 ") || !strings.Contains(j.Message, " 60.") {
		t.Errorf("%q", j.Message)
	}
}

func TestSuggestedLabels(t *testing.T) {
	text := func(name string, distinct int) dataset.SurveyColumn {
		return dataset.SurveyColumn{Name: name, Kind: "text", Distinct: distinct}
	}
	number := func(name string, distinct int, whole bool) dataset.SurveyColumn {
		return dataset.SurveyColumn{Name: name, Kind: "number", Distinct: distinct, Integers: whole}
	}
	for want, columns := range map[string][]dataset.SurveyColumn{
		"Species": {text("a", 2), number("x", 90, false), text("Species", 5)},
		"class":   {number("class", 3, true), text("a", 2)},
		"last":    {text("a", 2), number("x", 90, false), text("last", 5)},
		"few":     {number("x", 90, false), text("many", 50), text("few", 4), number("z", 90, false)},
		"digit":   {number("x", 90, false), number("y", 80, true), number("digit", 10, true)},
		"zero":    {number("zero", 10, true), number("x", 90, false), number("y", 80, true)},
		"":        {text("name", 100), text("one", 1), number("x", 90, false), number("y", 80, true)},
	} {
		if got := suggestLabel(&dataset.Survey{Rows: 100, Columns: columns}); got != want {
			t.Errorf("%q is suggested instead of %q", got, want)
		}
	}
}
