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
	"regexp"
	"strconv"
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
	if errors.Is(err, context.DeadlineExceeded) || isTimeout(err) {
		return string(answer), errors.New("the service keeps waiting")
	}
	return string(answer), nil // reset or closed
}

func isTimeout(err error) bool {
	var n net.Error
	return errors.As(err, &n) && n.Timeout()
}

// TestSlowHeaders lets clients send their headers byte by byte: the service closes them all.
func TestSlowHeaders(t *testing.T) {
	s := serve(t, hasty)
	w, h := startWatch(s), startClient(s, true)
	many(300, func(i int) {
		begin := []string{"", "GET /v1/server HTTP/1.1\r\n", "POST " + shop + "/search HTTP/1.1\r\nHost: localhost\r\nX-A: "}[i%3]
		answer, err := dribble(s.address, begin, "x")
		if err != nil || strings.Contains(answer, " 200 ") {
			t.Errorf("%q: %v, %q", begin, err, answer)
		}
	})
	h.end(t)
	w.end(t, s, 30<<20)
}

// TestSlowBodies lets clients send their bodies byte by byte: the service closes them all, and says why to those who
// look.
func TestSlowBodies(t *testing.T) {
	s := serve(t, hasty)
	w, h := startWatch(s), startClient(s, true)
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
	h.end(t)
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

// readers opens connections that ask for something and do not read the answer.
func (s *service) readers(t *testing.T, n int, request string) []net.Conn {
	t.Helper()
	var conns []net.Conn
	for range n {
		c, err := net.Dial("tcp", s.address)
		ok(t, err)
		t.Cleanup(func() { _ = c.Close() })
		ok(t, c.(*net.TCPConn).SetReadBuffer(4096))
		_, err = io.WriteString(c, request)
		ok(t, err)
		conns = append(conns, c)
	}
	return conns
}

// post returns the bytes of a search request.
func post(body string) string {
	return fmt.Sprintf("POST %s/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"+
		"Content-Length: %d\r\n\r\n%s", shop, len(body), body)
}

// TestSlowReaders lets twice as many clients as may search ask for large answers and not read them, for as long as they
// like: they hold none of the searches, so that others are served meanwhile, and little memory.
func TestSlowReaders(t *testing.T) {
	if testing.Short() {
		t.Skip("large answers take long to make under the race detector")
	}
	s := serve(t, func(o *server.Options) {
		o.Limits.ReadTime, o.Limits.WriteTime = 10*patience, 10*patience
		o.Limits.Searches, o.Limits.Waiting, o.Limits.Wait = 2, 100, 10*patience
	})
	body := largeSearch()
	if size := len(s.must(t, 200, "POST", shop+"/search", body)); size < 8<<20 {
		t.Fatalf("an answer of %d bytes is not large", size)
	}
	w := startWatch(s)
	conns := s.readers(t, 4, post(body))
	held := func() bool { // all four have been searched for, and wait for their readers
		return s.gauge(t, "hashgrove_requests_running") >= 5 && s.gauge(t, "hashgrove_searches_running") == 0 &&
			s.gauge(t, "hashgrove_searches_waiting") == 0
	}
	until(t, "four answers that nobody reads and no search", held)
	h := startHealthy(s)
	h.served(t, 20)
	if n := s.gauge(t, "hashgrove_requests_running"); n < 5 {
		t.Errorf("only %v requests run: the readers did not stay", n)
	}
	for _, c := range conns {
		ok(t, c.Close())
	}
	h.end(t)
	w.end(t, s, 500<<20)
}

// TestSlowReadersAreGivenUp: those who do not read in time are given up while they still wait.
func TestSlowReadersAreGivenUp(t *testing.T) {
	if testing.Short() {
		t.Skip("large answers take long to make under the race detector")
	}
	s := serve(t, func(o *server.Options) {
		hasty(o)
		o.Limits.Searches, o.Limits.Wait = 2, patience
	})
	w := startWatch(s)
	s.readers(t, 4, post(largeSearch()))
	until(t, "an end of four searches that nobody reads", func() bool {
		a, err := s.call("GET", "/metrics", "")
		if err != nil { // this client may be too slow for a hasty service, too
			return false
		}
		ended := 0
		for _, found := range searchesEnded.FindAllSubmatch(a.body, -1) {
			n, err := strconv.Atoi(string(found[1]))
			ok(t, err)
			ended += n
		}
		return ended >= 4
	})
	w.end(t, s, 1<<30)
}

// searchesEnded is a line of the metrics, for each status.
var searchesEnded = regexp.MustCompile(`(?m)^hashgrove_requests_total\{route="[^"]*/search",status="\d+"\} (\d+)$`)

// TestSlowBackups lets clients ask for backups and not read them: writes and searches go on meanwhile.
func TestSlowBackups(t *testing.T) {
	s := serve(t, nil)
	w, h := startWatch(s), startHealthy(s)
	conns := s.readers(t, 20, "GET "+shop+"/backup HTTP/1.1\r\nHost: localhost\r\n\r\n")
	for i := range 20 {
		s.must(t, 200, "PUT", fmt.Sprintf("%s/items/%d", shop, i+1), `{"code":"0f00000000000000"}`)
	}
	h.served(t, 20)
	for _, c := range conns {
		ok(t, c.Close())
	}
	h.end(t)
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

// TestHangUps sends requests and goes away at once.
func TestHangUps(t *testing.T) {
	s := serve(t, nil)
	w, h := startWatch(s), startHealthy(s)
	request := post(largeSearch())
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
	h.end(t)
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
	h.served(t, 20)
	h.end(t)
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
			_ = c.SetReadDeadline(time.Now().Add(patience))
			answer, err := io.ReadAll(c)
			if isTimeout(err) || len(answer) > 0 && !bytes.HasPrefix(answer, []byte("HTTP/1.1 431 ")) {
				t.Errorf("%s: %v, %.100q", name, err, answer)
			}
		})
	}
	h.end(t)
	w.end(t, s, 150<<20)
}
