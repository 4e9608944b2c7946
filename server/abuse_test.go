package server_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"runtime/metrics"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hashgrove/server"
)

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
	for range 100 {
		s.client.CloseIdleConnections()
		if left = runtime.NumGoroutine() - w.goroutines; left <= 2 {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if left > 2 {
		stacks := make([]byte, 1<<16)
		t.Errorf("%d goroutines are left:\n%s", left, stacks[:runtime.Stack(stacks, true)])
	}
	after := uint64(0)
	for range 50 { // pools give back what they hold after the second collection, and the last answers are being made
		runtime.GC()
		if after = liveHeap(); after <= w.heap+20<<20 {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Errorf("%d bytes in use afterwards, and %d before", after, w.heap)
}

// healthy is a client that behaves, and searches while others do not.
type healthy struct {
	stop  chan bool
	ended sync.WaitGroup
	n     atomic.Int64
	busy  atomic.Int64 // answers that told it to come again
	worst time.Duration
	errs  []error
}

func startHealthy(s *service) *healthy {
	h := &healthy{stop: make(chan bool)}
	h.ended.Go(func() {
		for i := 1; ; i = i%shopItems + 1 {
			select {
			case <-h.stop:
				return
			case <-time.After(5 * time.Millisecond):
			}
			began := time.Now()
			a, err := s.call("POST", shop+"/search", fmt.Sprintf(`{"id":%d,"k":3}`, i))
			for err == nil && a.StatusCode == http.StatusTooManyRequests && time.Since(began) < 10*time.Second {
				h.busy.Add(1) // it comes again, and the waiting counts
				time.Sleep(20 * time.Millisecond)
				a, err = s.call("POST", shop+"/search", fmt.Sprintf(`{"id":%d,"k":3}`, i))
			}
			if err == nil && a.StatusCode != http.StatusOK {
				err = fmt.Errorf("status %d: %s", a.StatusCode, a.body)
			}
			if err != nil {
				h.errs = append(h.errs, err)
				return
			}
			h.worst = max(h.worst, time.Since(began))
			h.n.Add(1)
		}
	})
	return h
}

// end checks that the client was served all the time.
func (h *healthy) end(t *testing.T, worst time.Duration) {
	t.Helper()
	for began := time.Now(); h.n.Load() < 3 && time.Since(began) < 10*time.Second; time.Sleep(5 * time.Millisecond) {
	}
	close(h.stop)
	h.ended.Wait()
	t.Logf("a healthy client had %d searches, the slowest in %v, and was told to come again %d times",
		h.n.Load(), h.worst.Round(time.Millisecond/10), h.busy.Load())
	if err := errors.Join(h.errs...); err != nil || h.n.Load() < 3 || h.worst > worst {
		t.Errorf("a healthy client had %d searches, the slowest in %v: %v", h.n.Load(), h.worst, err)
	}
}

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
	if err := c.SetReadDeadline(time.Now().Add(8 * time.Second)); err != nil {
		return "", err
	}
	answer, err := io.ReadAll(c)
	if errors.Is(err, context.DeadlineExceeded) || isTimeout(err) {
		return string(answer), errors.New("the service keeps waiting")
	}
	return string(answer), nil // reset or closed
}

func isTimeout(err error) bool {
	var n net.Error
	return errors.As(err, &n) && n.Timeout()
}

func TestSlowHeaders(t *testing.T) {
	s := serve(t, hasty)
	w, h := startWatch(s), startHealthy(s)
	many(300, func(i int) {
		begin := []string{"", "GET /v1/server HTTP/1.1\r\n", "POST " + shop + "/search HTTP/1.1\r\nHost: localhost\r\nX-A: "}[i%3]
		answer, err := dribble(s.address, begin, "x")
		if err != nil || strings.Contains(answer, " 200 ") {
			t.Errorf("%q: %v, %q", begin, err, answer)
		}
	})
	h.end(t, 2*time.Second)
	w.end(t, s, 30<<20)
}

func TestSlowBodies(t *testing.T) {
	s := serve(t, hasty)
	w, h := startWatch(s), startHealthy(s)
	var told atomic.Int32
	many(300, func(i int) {
		length := []string{"Content-Length: 60000", "Content-Length: 30000000", "Transfer-Encoding: chunked"}[i%3]
		rest := []string{"1", "1", "1\r\n1\r\n"}[i%3]
		begin := "POST " + shop + "/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" + length + "\r\n\r\n"
		answer, err := dribble(s.address, begin, rest)
		if err != nil || strings.Contains(answer, " 200 ") {
			t.Errorf("%s: %v, %q", length, err, answer)
		}
		if strings.HasPrefix(answer, "HTTP/1.1 408 ") && strings.Contains(answer, `"status":408`) {
			told.Add(1)
		}
	})
	if told.Load() < 200 { // a connection may be reset before the answer is read
		t.Errorf("408 was answered %d times only", told.Load())
	}
	h.end(t, 2*time.Second)
	w.end(t, s, 60<<20)
}

// largeSearch is a request whose answer is far larger than the buffers of a socket.
func largeSearch() string {
	var b strings.Builder
	b.WriteString(`{"k":250,"queries":[{"id":1}`)
	for range 399 {
		b.WriteString(`,{"id":2}`)
	}
	b.WriteString("]}")
	return b.String()
}

// TestSlowReaders lets clients ask for large answers and not read them: they must hold neither searches nor memory.
func TestSlowReaders(t *testing.T) {
	if testing.Short() {
		t.Skip("large answers take long to make under the race detector")
	}
	s := serve(t, func(o *server.Options) {
		hasty(o)
		o.Limits.ReadTime, o.Limits.WriteTime = 3*time.Second, 3*time.Second
		o.Limits.Searches, o.Limits.Waiting = 2, 100
	})
	body := largeSearch()
	if size := len(s.must(t, 200, "POST", shop+"/search", body)); size < 8<<20 {
		t.Fatalf("an answer of %d bytes is not large", size)
	}
	w, h := startWatch(s), startHealthy(s)
	request := fmt.Sprintf("POST %s/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		shop, len(body), body)
	var conns []net.Conn
	for range 4 { // twice as many as may search
		c, err := net.Dial("tcp", s.address)
		ok(t, err)
		defer c.Close()
		conns = append(conns, c)
		ok(t, c.(*net.TCPConn).SetReadBuffer(4096))
		_, err = io.WriteString(c, request)
		ok(t, err)
	}
	running := 0
	for range 100 { // their time is over after six seconds
		time.Sleep(100 * time.Millisecond)
		_, line, _ := strings.Cut(s.must(t, 200, "GET", "/metrics", ""), "\nhashgrove_requests_running ")
		if _, err := fmt.Sscan(line, &running); err != nil {
			t.Fatal(err)
		}
		if running <= 2 { // this one, and the healthy client's
			break
		}
	}
	if running > 2 {
		t.Errorf("the service still waits for %d requests", running)
	}
	for _, c := range conns {
		ok(t, c.Close())
	}
	h.end(t, 3*time.Second) // less than it takes until the service gives them up
	w.end(t, s, 500<<20)
}

// TestSlowBackups lets clients ask for backups and not read them: writes and searches go on.
func TestSlowBackups(t *testing.T) {
	s := serve(t, hasty)
	w, h := startWatch(s), startHealthy(s)
	var conns []net.Conn
	for range 20 {
		c, err := net.Dial("tcp", s.address)
		ok(t, err)
		conns = append(conns, c)
		ok(t, c.(*net.TCPConn).SetReadBuffer(4096))
		_, err = io.WriteString(c, "GET "+shop+"/backup HTTP/1.1\r\nHost: localhost\r\n\r\n")
		ok(t, err)
	}
	for i := range 20 {
		s.must(t, 200, "PUT", fmt.Sprintf("%s/items/%d", shop, i+1), `{"code":"0f00000000000000"}`)
	}
	time.Sleep(3 * time.Second)
	for _, c := range conns {
		ok(t, c.Close())
	}
	h.end(t, time.Second)
	w.end(t, s, 100<<20)
}

// TestBusy keeps all places taken, and asks for more.
func TestBusy(t *testing.T) {
	s := serve(t, func(o *server.Options) {
		o.Limits.Searches, o.Limits.Waiting, o.Limits.Wait = 1, 2, 100*time.Millisecond
	})
	body := largeSearch()
	w := startWatch(s)
	var good, busy atomic.Int32
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
	t.Logf("%d of 60 searches were answered, %d were told to come again", good.Load(), busy.Load())
	if good.Load() < 1 || busy.Load() < 1 {
		t.Errorf("%d good answers and %d busy ones", good.Load(), busy.Load())
	}
	s.must(t, 200, "POST", shop+"/search", `{"id":1}`)
	w.end(t, s, 2<<30)
}

// TestHangUps sends requests and goes away at once.
func TestHangUps(t *testing.T) {
	s := serve(t, nil)
	w, h := startWatch(s), startHealthy(s)
	body := largeSearch()
	request := fmt.Sprintf("POST %s/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		shop, len(body), body)
	many(8, func(i int) {
		for j := range 50 {
			c, err := net.Dial("tcp", s.address)
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = io.WriteString(c, request[:len(request)*(1+j%4)/4])
			_ = c.(*net.TCPConn).SetLinger(0) // reset
			_ = c.Close()
		}
	})
	h.end(t, 5*time.Second)
	w.end(t, s, 1<<30)
}

// idle opens connections that do nothing, half of them after a request.
func (s *service) idle(t *testing.T, n int) []net.Conn {
	t.Helper()
	conns, errs := make([]net.Conn, n), make([]error, 10)
	many(10, func(part int) {
		for i := part; i < n && errs[part] == nil; i += 10 {
			if conns[i], errs[part] = net.Dial("tcp", s.address); errs[part] != nil || i%2 == 0 {
				continue
			}
			if _, errs[part] = io.WriteString(conns[i], "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"); errs[part] == nil {
				_, errs[part] = http.ReadResponse(bufio.NewReaderSize(conns[i], 16), nil)
			}
		}
	})
	ok(t, errors.Join(errs...))
	return conns
}

// TestIdleConnections holds connections that do nothing; TestManyIdleConnections holds 10,000.
func TestIdleConnections(t *testing.T) {
	s := serve(t, nil)
	w, h := startWatch(s), startHealthy(s)
	conns := s.idle(t, 500)
	time.Sleep(100 * time.Millisecond)
	h.end(t, 2*time.Second)
	for _, c := range conns {
		ok(t, c.Close())
	}
	w.end(t, s, 500*64<<10)
}

// TestHeaderFloods sends too many headers, too long ones, and addresses that are too long.
func TestHeaderFloods(t *testing.T) {
	s := serve(t, nil)
	w, h := startWatch(s), startHealthy(s)
	for name, request := range map[string]string{
		"many":    "GET / HTTP/1.1\r\nHost: localhost\r\n" + strings.Repeat("X-A: b\r\n", 200_000),
		"long":    "GET / HTTP/1.1\r\nHost: localhost\r\nX-A: " + strings.Repeat("b", 2<<20),
		"address": "GET /?" + strings.Repeat("a", 2<<20),
		"cookies": "GET / HTTP/1.1\r\nHost: localhost\r\n" + strings.Repeat("Cookie: "+strings.Repeat("c", 4000)+"\r\n", 20) + "\r\n",
	} {
		many(20, func(int) {
			c, err := net.Dial("tcp", s.address)
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			go func() { _, _ = io.WriteString(c, request) }()
			_ = c.SetReadDeadline(time.Now().Add(5 * time.Second))
			answer, err := io.ReadAll(c)
			if isTimeout(err) || len(answer) > 0 && !bytes.HasPrefix(answer, []byte("HTTP/1.1 431 ")) {
				t.Errorf("%s: %v, %.100q", name, err, answer)
			}
		})
	}
	h.end(t, 2*time.Second)
	w.end(t, s, 150<<20)
}
