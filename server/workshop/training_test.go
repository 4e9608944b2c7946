package workshop

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
)

func float32Bytes(v float32) []byte {
	return binary.LittleEndian.AppendUint32(nil, math.Float32bits(v))
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
	b.must("POST", "/v1/try/1/train", `{"bits":256}`)
	b.refused(429, "POST", "/v1/try/1/train", "{}", "large.csv")
	b.refused(429, "POST", "/v1/try?name=flowers.csv", flowers(90), "large.csv")
	until(t, "progress", func() bool {
		j := b.must("GET", "/v1/try/1", "")
		if j.Progress <= 0.02 {
			return false
		}
		if !strings.Contains(j.Stage, " 256") {
			t.Errorf("%+v", j)
		}
		return true
	})
	// Had it gone on to the end, which takes a hundred times as long as so far, it would be done.
	if j := b.must("POST", "/v1/try/1/cancel", ""); j.State != stateCancelled || j.Collection != "" || j.Stage != "" {
		t.Errorf("%+v", j)
	}
	b.must("POST", "/v1/try/1/train", `{"bits":256}`)
	b.must("DELETE", "/v1/try/1", "") // while it is in training
	b.must("POST", "/v1/try?name=flowers.csv", flowers(90))
	for _, bits := range []int{4, 8} { // and again, with more bits
		b.must("POST", "/v1/try/3/train", fmt.Sprintf(`{"bits":%d}`, bits))
		if j := b.wait("3", stateDone); j.Bits != bits || !slices.Equal(b.collections(), []string{"try-3"}) {
			t.Errorf("%+v, %v", j, b.collections())
		}
	}
}

func TestAnUploadTakesThePlaceOfTheLast(t *testing.T) {
	b := newBench(t, Options{})
	b.try("1.csv", flowers(60))
	b.wait("1", stateDone)
	b.refused(400, "POST", "/v1/try?name=2.csv", "") // what fails takes no place
	b.must("GET", "/v1/try/1", "")
	b.must("POST", "/v1/try?name=3.csv", flowers(60))
	b.refused(404, "GET", "/v1/try/1", "", `"1"`)
	if len(b.collections()) != 0 || len(b.folders()) != 1 {
		t.Errorf("%v, %v", b.collections(), b.folders())
	}
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
}

func TestCloseCancelsAndCleans(t *testing.T) {
	b := newBench(t, Options{})
	b.must("POST", "/v1/try?name=1.csv", large())
	b.must("POST", "/v1/try/1/train", `{"bits":256}`)
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if left := b.folders(); len(left) != 0 {
		t.Errorf("%v are left", left)
	}
	b.refused(503, "POST", "/v1/try?name=3.csv", flowers(60))
}
