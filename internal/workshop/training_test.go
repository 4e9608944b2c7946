package workshop

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hashgrove/internal/fault"
	"hashgrove/internal/index"
	"hashgrove/server"
)

func float32Bytes(v float32) []byte {
	return binary.LittleEndian.AppendUint32(nil, math.Float32bits(v))
}

func mustFilter(t *testing.T, text string) index.Filter {
	t.Helper()
	f, err := index.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// large is a table that takes seconds to learn from.
func large() string {
	var s strings.Builder
	s.WriteString("label" + strings.Repeat(",v", 40) + "\n")
	x := uint32(1)
	for i := range 4000 {
		fmt.Fprintf(&s, "c%d", i%10)
		for j := range 40 {
			x = x*1664525 + 1013904223
			fmt.Fprintf(&s, ",%d", int(x>>24)+i%10*(j%3))
		}
		s.WriteByte('\n')
	}
	return s.String()
}

func TestOneTrainingAtATimeWhichCanBeCancelled(t *testing.T) {
	b := newBench(t, Options{})
	b.must("POST", "/v1/try?name=large.csv", large())
	b.must("POST", "/v1/try?name=flowers.csv", flowers(90))
	b.must("POST", "/v1/try/1/train", `{"bits":256}`)
	b.refused(429, "busy", "POST", "/v1/try/2/train", "", "large.csv")
	b.refused(409, "in-training", "POST", "/v1/try/1/train", "", "large.csv")
	until(t, "progress", func() bool {
		j := b.must("GET", "/v1/try/1", "")
		if j.Progress <= 0.02 {
			return false
		}
		if !strings.Contains(j.Stage, " 256") || j.SecondsLeft == nil || *j.SecondsLeft <= 0 {
			t.Errorf("%+v", j)
		}
		return true
	})
	// Had it gone on to the end, which takes a hundred times as long as so far, it would be done.
	if j := b.must("POST", "/v1/try/1/cancel", ""); j.State != stateCancelled || j.Collection != "" || j.Stage != "" {
		t.Errorf("%+v", j)
	}
	b.must("POST", "/v1/try/2/train", `{"bits":4}`)
	b.wait("2", stateDone)
	if len(b.attached) != 1 {
		t.Errorf("%v", b.attached)
	}
	b.must("POST", "/v1/try/2/train", `{"bits":8}`) // again, with more bits
	if j := b.wait("2", stateDone); j.Result.Rows[0].Bits != 8 || len(b.attached) != 1 {
		t.Errorf("%+v", j.Result.Rows[0])
	}
	b.must("POST", "/v1/try/1/train", `{"bits":256}`)
	b.must("DELETE", "/v1/try/1", "") // while it is in training
	b.must("POST", "/v1/try/2/train", `{"bits":4}`)
	b.wait("2", stateDone)
}

func TestATrainingHasADeadline(t *testing.T) {
	b := newBench(t, Options{TimeLimit: 300 * time.Millisecond})
	b.must("POST", "/v1/try?name=large.csv", large())
	status, text := b.ask("POST", "/v1/try/1/train", strings.NewReader(`{"bits":256}`))
	if status == 202 {
		text = []byte(b.wait("1", stateFailed).Message)
	}
	if d := fault.Differs(b.lastFailure(), "too-slow"); d != "" || !strings.Contains(string(text), "300ms") {
		t.Errorf("%d %s: %s", status, text, d)
	}
}

func TestOldJobsMakeRoom(t *testing.T) {
	b := newBench(t, Options{Keep: 2})
	b.must("POST", "/v1/try?name=1.csv&train=true&bits=4", flowers(60))
	b.wait("1", stateDone)
	b.must("POST", "/v1/try?name=2.csv", flowers(60))
	if len(b.attached) != 1 {
		t.Errorf("%v", b.attached)
	}
	b.must("POST", "/v1/try?name=3.csv", flowers(60))
	b.refused(404, "no-such-upload", "GET", "/v1/try/1", "", `"1"`, " 2 ")
	if len(b.attached) != 0 || len(b.folders()) != 2 {
		t.Errorf("%v, %v", b.attached, b.folders())
	}
	b.refused(400, "empty-file", "POST", "/v1/try?name=4.csv", "") // what fails takes no room
	b.must("GET", "/v1/try/2", "")
	b.must("POST", "/v1/try?name=5.csv", large())
	b.must("POST", "/v1/try/5/train", `{"bits":256}`)
	b.must("POST", "/v1/try?name=6.csv", flowers(60))
	b.must("POST", "/v1/try?name=7.csv", flowers(60))
	b.must("GET", "/v1/try/5", "") // it is in training and stays
}

func TestAnInterruptedUploadLeavesNothing(t *testing.T) {
	b := newBench(t, Options{})
	r, w := io.Pipe()
	go func() {
		_, _ = io.WriteString(w, flowers(1000))
		w.CloseWithError(errors.New("the cable was pulled"))
	}()
	request, err := http.NewRequest("POST", b.url+"/v1/try?name=a.csv", r)
	if err != nil {
		t.Fatal(err)
	}
	if answer, err := http.DefaultClient.Do(request); err == nil {
		answer.Body.Close()
		t.Error(answer.Status)
	}
	until(t, "a place for another upload", func() bool { // the server may notice later
		status, _ := b.ask("POST", "/v1/try?name=a.csv", strings.NewReader(flowers(60)))
		return status == 202
	})
	until(t, "an end of the folder", func() bool { return len(b.folders()) == 1 })
	if len(b.jobs) != 1 {
		t.Errorf("%d jobs are left", len(b.jobs))
	}
}

// TestSlowUploadsEnd checks how long a body may take: half a minute, and longer only for what has come.
func TestSlowUploadsEnd(t *testing.T) {
	for _, c := range []struct {
		ago  time.Duration
		read int64
		want error
	}{{29 * time.Second, 0, nil}, {31 * time.Second, 100, os.ErrDeadlineExceeded}, {60 * time.Second, 2 << 20, nil},
		{90 * time.Second, 2 << 20, os.ErrDeadlineExceeded}, {15 * time.Minute, 64 << 20, nil}} {
		p := &patientReader{
			body: strings.NewReader("x"), conn: http.NewResponseController(httptest.NewRecorder()),
			began: time.Now().Add(-c.ago), read: c.read,
		}
		if _, err := p.Read(make([]byte, 1)); err != c.want {
			t.Errorf("%d bytes in %v: %v", c.read, c.ago, err)
		}
	}
	if f := failureOf(os.ErrDeadlineExceeded); f.status != http.StatusRequestTimeout {
		t.Errorf("%d", f.status)
	}
}

func TestOneUploadAtATime(t *testing.T) {
	b := newBench(t, Options{})
	r, w := io.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if answer, err := http.Post(b.url+"/v1/try?name=a.csv", "text/csv", r); err == nil {
			answer.Body.Close()
		}
	}()
	_, _ = io.WriteString(w, "a,b\n")
	until(t, "a folder for the upload", func() bool { return len(b.folders()) == 1 })
	b.refused(429, "busy", "POST", "/v1/try?name=b.csv", flowers(60))
	w.Close()
	<-ended
}

func TestWhatAKilledWorkshopLeftIsRemoved(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"hashgrove-job-3/pictures/cat", "mine"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	b := newBench(t, Options{Dir: dir})
	if got := b.folders(); len(got) != 1 || got[0] != "mine" {
		t.Errorf("%v", got)
	}
}

func TestCloseCancelsAndCleans(t *testing.T) {
	detached := make(chan string, 1)
	w := New(Options{Detach: func(name string) error { detached <- name; return nil }})
	dir := w.options.Dir
	b := (&bench{t: t, Workshop: w}).listen()
	b.url = serve(t, w)
	b.must("POST", "/v1/try?name=1.csv&train=true&bits=4", flowers(60))
	b.wait("1", stateDone)
	b.must("POST", "/v1/try?name=2.csv", large())
	b.must("POST", "/v1/try/2/train", `{"bits":256}`)
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if name := <-detached; name != "try-1" {
		t.Error(name)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("%s is left: %v", dir, err)
	}
	b.refused(503, "stopping", "POST", "/v1/try?name=3.csv", flowers(60))
}

func TestAFolderThatCannotBeUsedIsReported(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w := New(Options{Dir: filepath.Join(file, "below")})
	b := (&bench{t: t, Workshop: w}).listen()
	b.url = serve(t, w)
	if status, text := b.ask("POST", "/v1/try", strings.NewReader("a")); status != 500 ||
		!fault.Is(b.lastFailure(), "no-storage") {
		t.Errorf("%d %s", status, text)
	}
}

func TestAnErrorOfTheServerFailsTheJob(t *testing.T) {
	w := New(Options{Dir: t.TempDir(), Attach: func(context.Context, Collection) error {
		return errors.New("there are two collections called try-1")
	}})
	defer w.Close()
	b := &bench{t: t, Workshop: w, url: serve(t, w)}
	b.must("POST", "/v1/try?name=1.csv&train=true&bits=4", flowers(60))
	if j := b.wait("1", stateFailed); !strings.Contains(j.Message, "two collections") || j.Collection != "" {
		t.Errorf("%+v", j)
	}
}

func TestSamplesCanBeTried(t *testing.T) {
	b := newBench(t, Options{})
	_, table := b.ask("GET", "/v1/try/samples/leaves.csv", nil)
	j := b.must("POST", "/v1/try?name=leaves.csv", string(table))
	if j.Rows != 1500 || j.Label != "species" {
		t.Errorf("%+v", j)
	}
	_, pictures := b.ask("GET", "/v1/try/samples/clothes.zip", nil)
	j = b.must("POST", "/v1/try?name=clothes.zip", string(pictures))
	if j.Rows != 1000 || len(j.Classes) != 10 {
		t.Errorf("%+v", j)
	}
	if testing.Short() {
		return
	}
	b.must("POST", "/v1/try/1/train", "")
	first := b.wait("1", stateDone)
	b.must("POST", "/v1/try/2/train", "")
	second := b.wait("2", stateDone)
	for _, j := range []Job{first, second} {
		checkResult(t, j.Result)
		t.Log(j.Name, j.Result.Seconds, j.Result.Summary)
	}
}

// TestTheBestCodesAreSearched: headline, first row and index are about the same codes, the best for new items, and any
// other codes of the table can be searched instead.
func TestTheBestCodesAreSearched(t *testing.T) {
	b := newService(t, server.Options{})
	b.must("POST", "/v1/try?name=flowers.csv&label=species&bits=8&train=true", flowers(120))
	for _, want := range []string{"", "sdh", "fasthash"} {
		if want != "" {
			b.must("POST", "/v1/try/1/train", `{"method":"`+want+`"}`)
		}
		r := b.wait("1", stateDone).Result
		first := r.Rows[0]
		if !first.Searched || !first.Main || !strings.Contains(r.Summary, first.Method) || want != "" && first.Name != want || r.NewItems.MAP != first.MAP {
			t.Errorf("%q: %+v, %s", want, first, r.Summary)
		}
		for _, row := range r.Rows[1:] {
			if row.Searched || want == "" && row.Name != "" && row.MAP > first.MAP+nearBest {
				t.Errorf("%s with %.3f is better than %s with %.3f", row.Method, row.MAP, first.Method, first.MAP)
			}
		}
		var m struct{ Info struct{ Method string } }
		b.answer("GET", "/v1/collections/try-1/model", "", &m)
		if !strings.HasPrefix(m.Info.Method, first.Name) {
			t.Errorf("%q: the index has codes of %s", first.Name, m.Info.Method)
		}
	}
}
