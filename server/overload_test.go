package server_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"runtime/metrics"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hashgrove/server"
)

// hasty makes timeouts short.
func hasty(o *server.Options) {
	o.Limits.ReadTime, o.Limits.WriteTime, o.Limits.IdleTime = time.Second, time.Second, time.Second
}

// many runs something a number of times at once.
func many(n int, do func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { do(i) })
	}
	wg.Wait()
}

// dribble sends the beginning of a request, and then a byte of the rest now and then until the service has had enough;
// it returns what the service answered.
func dribble(address, begin, rest string) (string, error) {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return "", err
	}
	defer c.Close()
	if _, err := io.WriteString(c, begin); err != nil {
		return "", err
	}
	done := make(chan bool)
	go func() {
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			case <-time.After(50 * time.Millisecond):
			}
			if _, err := c.Write([]byte{rest[i%len(rest)]}); err != nil {
				return
			}
		}
	}()
	defer close(done)
	if err := c.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return "", err
	}
	answer, err := io.ReadAll(c)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return string(answer), errors.New("the service keeps waiting")
	}
	return string(answer), nil // reset or closed
}

// TestSlowBodies lets clients send their bodies byte by byte: the service closes them all, and says why to those who
// look.
func TestSlowBodies(t *testing.T) {
	s := serve(t, hasty)
	w := startWatch(s)
	var told [3]atomic.Int32
	many(300, func(i int) {
		length := []string{"Content-Length: 60000", "Content-Length: 30000000", "Transfer-Encoding: chunked"}[i%3]
		rest := []string{"1", "1", "1\r\n1\r\n"}[i%3]
		begin := "POST " + shop + "/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" + length + "\r\n\r\n"
		answer, err := dribble(s.address, begin, rest)
		if err != nil || strings.Contains(answer, " 200 ") {
			t.Errorf("%s: %v, %q", length, err, answer)
		}
		if strings.HasPrefix(answer, "HTTP/1.1 408 ") && strings.Contains(answer, `"status":408`) {
			told[i%3].Add(1)
		}
	})
	for i := range told { // a connection may be reset before the answer is read
		if told[i].Load() == 0 {
			t.Errorf("none of the slow bodies of kind %d was told 408", i)
		}
	}
	w.end(t, s, 60<<20)
}

// largeSearch returns a request whose answer is far larger than the buffers of a socket.
func largeSearch() string {
	var b strings.Builder
	b.WriteString(`{"k":250,"queries":[{"id":1}`)
	for range 399 {
		b.WriteString(`,{"id":2}`)
	}
	b.WriteString("]}")
	return b.String()
}

// TestBusy keeps all places taken, and asks for more.
func TestBusy(t *testing.T) {
	s := serve(t, func(o *server.Options) {
		o.Limits.Searches, o.Limits.Waiting, o.Limits.Wait = 1, 2, 100*time.Millisecond
	})
	body := largeSearch()
	w := startWatch(s)
	var good, busy atomic.Int32
	for round := 0; round < 20 && (good.Load() == 0 || busy.Load() == 0); round++ {
		s.ask60(t, body, &good, &busy)
	}
	t.Logf("%d searches were answered, %d were told to come again", good.Load(), busy.Load())
	if good.Load() < 1 || busy.Load() < 1 {
		t.Errorf("%d good answers and %d busy ones", good.Load(), busy.Load())
	}
	s.must(t, 200, "POST", shop+"/search", `{"id":1}`)
	w.end(t, s, 2<<30)
}

// ask60 sends a search sixty times at once and counts the answers.
func (s *service) ask60(t *testing.T, body string, good, busy *atomic.Int32) {
	many(60, func(int) {
		a, err := s.call("POST", shop+"/search", body)
		switch {
		case err != nil:
			t.Error(err)
		case a.StatusCode == http.StatusOK:
			good.Add(1)
		case a.StatusCode == http.StatusTooManyRequests && a.Header.Get("Retry-After") != "":
			busy.Add(1)
		default:
			t.Errorf("status %d: %.200s", a.StatusCode, a.body)
		}
	})
}

// watch samples the memory of the process, which holds both the service and those who abuse it.
type watch struct {
	stop       chan bool
	ended      sync.WaitGroup
	heap       uint64 // in use at the start
	goroutines int
	peak       uint64
	most       int
}

func liveHeap() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// startWatch begins to watch after everything has calmed down.
func startWatch(s *service) *watch {
	s.client.CloseIdleConnections()
	time.Sleep(50 * time.Millisecond)
	runtime.GC()
	w := &watch{stop: make(chan bool), heap: liveHeap(), goroutines: runtime.NumGoroutine()}
	w.ended.Go(func() {
		for {
			w.peak, w.most = max(w.peak, liveHeap()), max(w.most, runtime.NumGoroutine())
			select {
			case <-w.stop:
				return
			case <-time.After(2 * time.Millisecond):
			}
		}
	})
	return w
}

// end checks that no more than so many bytes were in use beyond those at the start, and that memory and goroutines are as
// before after a while.
func (w *watch) end(t *testing.T, s *service, bytes uint64) {
	t.Helper()
	close(w.stop)
	w.ended.Wait()
	more := w.peak - min(w.peak, w.heap)
	t.Logf("at most %.1f MB and %d goroutines more than before", float64(more)/1e6, w.most-w.goroutines)
	if more > bytes {
		t.Errorf("%d bytes of memory more than before, want at most %d", more, bytes)
	}
	left := 0
	for began := time.Now(); time.Since(began) < patience; time.Sleep(50 * time.Millisecond) {
		s.client.CloseIdleConnections()
		if left = runtime.NumGoroutine() - w.goroutines; left <= 2 {
			break
		}
	}
	if left > 2 {
		stacks := make([]byte, 1<<16)
		t.Errorf("%d goroutines are left:\n%s", left, stacks[:runtime.Stack(stacks, true)])
	}
	after := uint64(0)
	// Pools give back what they hold after the second collection, and the last answers are being made.
	for began := time.Now(); time.Since(began) < patience; time.Sleep(100 * time.Millisecond) {
		runtime.GC()
		if after = liveHeap(); after <= w.heap+20<<20 {
			return
		}
	}
	t.Errorf("%d bytes in use afterwards, and %d before", after, w.heap)
}
