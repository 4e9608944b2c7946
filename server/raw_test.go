package server_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"hashgrove/server"
)

// exchange sends bytes and returns all that comes back until the service closes: it does after an error, or soon where
// it is hasty.
func exchange(t *testing.T, address, request string) string {
	t.Helper()
	c, err := net.Dial("tcp", address)
	ok(t, err)
	defer c.Close()
	_, _ = io.WriteString(c, request) // the service may close before it has read everything
	ok(t, c.SetReadDeadline(time.Now().Add(patience)))
	answer, err := io.ReadAll(c) // a partial body is good enough
	if isTimeout(err) {
		t.Fatalf("the connection is open after %v, with the answer %.300q to %.300q", patience, answer, request)
	}
	return string(answer)
}

var statusLine = regexp.MustCompile(`HTTP/1\.1 (\d+) `)

// TestSmuggling sends requests whose end can be seen in two ways. In each, something deletes item 1 for a service that
// finds the wrong end.
func TestSmuggling(t *testing.T) {
	s := serve(t, hasty)
	hidden := "DELETE " + shop + "/items/1 HTTP/1.1\r\nHost: localhost\r\n\r\n"
	post := "POST " + shop + "/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
	for name, c := range map[string]struct {
		request string
		status  string // of the first answer
	}{
		"two lengths":             {post + "Content-Length: 8\r\nContent-Length: 80\r\n\r\n" + `{"id":1}` + hidden, "400"},
		"a list of lengths":       {post + "Content-Length: 8, 80\r\n\r\n" + `{"id":1}` + hidden, "400"},
		"a signed length":         {post + "Content-Length: +8\r\n\r\n" + `{"id":1}` + hidden, "400"},
		"a negative length":       {post + "Content-Length: -8\r\n\r\n" + hidden, "400"},
		"a length in hex":         {post + "Content-Length: 0x8\r\n\r\n" + hidden, "400"},
		"a length beyond numbers": {post + "Content-Length: 99999999999999999999\r\n\r\n" + hidden, "400"},
		"space before the colon":  {post + "Content-Length : 0\r\n\r\n" + hidden, "400"},
		"chunked twice":           {post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden, "400|501"},
		"chunked and identity":    {post + "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n" + hidden, "400|501"},
		"almost chunked":          {post + "Transfer-Encoding: xchunked\r\nContent-Length: 0\r\n\r\n" + hidden, "400|501"},
		"chunked with a space":    {post + "Transfer-Encoding : chunked\r\nContent-Length: 0\r\n\r\n" + hidden, "400|501"},
		"chunked with a tab":      {post + "Transfer-Encoding:\x0bchunked\r\nContent-Length: 0\r\n\r\n" + hidden, "400|501"},
		"a folded header":         {post + "Transfer-Encoding:\r\n chunked\r\nContent-Length: 0\r\n\r\n" + hidden, "400|501"},
		"a chunk beyond numbers":  {post + "Transfer-Encoding: chunked\r\n\r\nffffffffffffffff1\r\n" + hidden, "400"},
		"a chunk of no number":    {post + "Transfer-Encoding: chunked\r\n\r\nzz\r\n" + hidden, "400"},
		"a long chunk extension":  {post + "Transfer-Encoding: chunked\r\n\r\n1;" + strings.Repeat("a", 1<<20) + "\r\n" + hidden, "400"},
		"two hosts":               {"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n" + hidden, "400"},
		"no host":                 {"GET / HTTP/1.1\r\n\r\n" + hidden, "400"},
		"a zero byte":             {"GET / HTTP/1.1\r\nHost: localhost\r\nX: a\x00b\r\n\r\n" + hidden, "400"},
		"a bare return":           {"GET / HTTP/1.1\r\nHost: localhost\rX: y\r\n\r\n" + hidden, "400"},
		"a return in the line":    {"GET /\r HTTP/1.1\r\nHost: localhost\r\n\r\n" + hidden, "400"},
		"another protocol":        {"GET / HTTP/3.0\r\nHost: localhost\r\n\r\n" + hidden, "400|505"},
		"no protocol":             {"GET /\r\n" + hidden, "400"},
		"garbage":                 {"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + hidden, "400"},
	} {
		answer := exchange(t, s.address, c.request)
		found := statusLine.FindAllStringSubmatch(answer, -1)
		if len(found) != 1 || !regexp.MustCompile("^("+c.status+")$").MatchString(found[0][1]) {
			t.Errorf("%s: %d answers, want one with %s: %.300q", name, len(found), c.status, answer)
		}
	}
	// Both a length and chunks: only the chunks count (RFC 9112, 6.3), so what the length would cut off is the body.
	body := "8\r\n{\"id\":1}\r\n0\r\n\r\n"
	answer := exchange(t, s.address, post+"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n"+body)
	if found := statusLine.FindAllStringSubmatch(answer, -1); len(found) != 1 || found[0][1] != "200" && found[0][1] != "400" {
		t.Errorf("a length and chunks: %.300q", answer)
	}
	// A request that is refused before its body is read must not leave the body to be taken for the next request.
	for _, head := range []string{
		"POST /nothing HTTP/1.1\r\nHost: localhost\r\n", "POST " + shop + "/search HTTP/1.1\r\nHost: evil.example\r\n",
		"POST " + shop + "/search HTTP/1.1\r\nHost: localhost\r\nContent-Encoding: gzip\r\n", "GET /healthz HTTP/1.1\r\nHost: localhost\r\n",
	} {
		answer := exchange(t, s.address, head+"Content-Length: "+itoa(len(hidden))+"\r\n\r\n"+hidden)
		if found := statusLine.FindAllString(answer, -1); len(found) != 1 {
			t.Errorf("%q: %.400q", head, answer)
		}
	}
	s.must(t, 200, "GET", shop+"/items/1", "")
}

func itoa(n int) string { return big.NewInt(int64(n)).String() }

// selfSigned returns a certificate for this machine.
func selfSigned(t *testing.T) *tls.Config {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	ok(t, err)
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	ok(t, err)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
}

// frame returns an HTTP/2 frame (RFC 9113, 4.1).
func frame(kind, flags byte, stream uint32, payload []byte) []byte {
	b := []byte{byte(len(payload) >> 16), byte(len(payload) >> 8), byte(len(payload)), kind, flags}
	return append(binary.BigEndian.AppendUint32(b, stream), payload...)
}

const (
	framePriority, frameHeaders, frameReset, frameSettings, framePing, frameContinuation = 2, 1, 3, 4, 6, 9
	endStream, endHeaders                                                                = 1, 4
)

// requestHeaders returns a GET in HPACK: indexed fields, and literals with indexed names.
func requestHeaders(host, path string) []byte {
	b := []byte{0x82, 0x87, 0x04, byte(len(path))}
	b = append(append(b, path...), 0x01, byte(len(host)))
	return append(b, host...)
}

// dialHTTP2 opens a connection and says hello.
func dialHTTP2(address string) (net.Conn, error) {
	c, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
	if err != nil {
		return nil, err
	}
	if p := c.ConnectionState().NegotiatedProtocol; p != "h2" {
		return nil, errors.Join(fmt.Errorf("the protocol is %q", p), c.Close())
	}
	hello := append([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), frame(frameSettings, 0, 0, nil)...)
	if _, err := c.Write(hello); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// sendFlood sends frames until the service closes the connection, as it may at any time, or 20,000 are sent. An error
// says that none was.
func sendFlood(address string, flood func(i uint32) []byte) error {
	c, err := dialHTTP2(address)
	if err != nil {
		return err
	}
	defer c.Close()
	go func() { _, _ = io.Copy(io.Discard, c) }()
	if err := c.SetWriteDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	if _, err := c.Write(flood(0)); err != nil {
		return err
	}
	var b bytes.Buffer
	for i := range uint32(20_000) {
		b.Write(flood(i + 1))
		if b.Len() > 16<<10 {
			if _, err := c.Write(b.Bytes()); err != nil {
				return nil // the service has had enough
			}
			b.Reset()
		}
	}
	_, _ = c.Write(b.Bytes())
	return nil
}

// TestHTTP2Floods opens streams and resets them at once, many thousand times, and sends other floods of small frames
// that make a careless service work without end. It may close such connections; others are served meanwhile, and no
// more runs than the streams that are allowed.
func TestHTTP2Floods(t *testing.T) {
	s := serveTLS(t, hasty, selfSigned(t))
	until(t, "an answer in HTTP/2", func() bool { // on a busy machine a client may be too slow for a hasty service
		a, err := s.call("GET", shop+"/search?id=1", "")
		return err == nil && a.ProtoMajor == 2 && a.StatusCode == 200
	})
	headers := requestHeaders("127.0.0.1", shop+"/search?id=1&k=300")
	w, h := startWatch(s), startClient(s, true)
	for name, flood := range map[string]func(i uint32) []byte{
		"rapid resets": func(i uint32) []byte {
			return append(frame(frameHeaders, endStream|endHeaders, 2*i+1, headers), frame(frameReset, 0, 2*i+1, []byte{0, 0, 0, 8})...)
		},
		"streams that stay open":     func(i uint32) []byte { return frame(frameHeaders, endHeaders, 2*i+1, headers) },
		"pings":                      func(uint32) []byte { return frame(framePing, 0, 0, make([]byte, 8)) },
		"settings":                   func(uint32) []byte { return frame(frameSettings, 0, 0, nil) },
		"priorities":                 func(i uint32) []byte { return frame(framePriority, 0, 2*i+1, make([]byte, 5)) },
		"headers that never end":     func(i uint32) []byte { return continuation(i, headers) },
		"resets of unopened streams": func(i uint32) []byte { return frame(frameReset, 0, 2*i+1, []byte{0, 0, 0, 8}) },
	} {
		errs := make([]error, 4)
		many(4, func(i int) {
			for began := time.Now(); time.Since(began) < patience; { // it may have had enough before the first frame
				if errs[i] = sendFlood(s.address, flood); errs[i] == nil {
					return
				}
			}
		})
		if err := errors.Join(errs...); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if more := runtime.NumGoroutine() - w.goroutines; more > 1500 {
			t.Errorf("%s: %d goroutines more than before", name, more)
		}
	}
	h.end(t)
	w.end(t, s, 200<<20)
	if w.most-w.goroutines > 1500 {
		t.Errorf("%d goroutines more than before", w.most-w.goroutines)
	}
}

// continuation returns one frame of a header list that goes on and on.
func continuation(i uint32, headers []byte) []byte {
	if i == 0 {
		return frame(frameHeaders, 0, 1, headers)
	}
	return frame(frameContinuation, 0, 1, append([]byte{0x00, 0x01, 'x', 0x7f, 0x81, 0x01}, bytes.Repeat([]byte("y"), 256)...))
}

// TestPlainHTTPOnTLS sends HTTP to a service that speaks HTTPS, and the other way round.
func TestPlainHTTPOnTLS(t *testing.T) {
	s := serveTLS(t, func(o *server.Options) {}, selfSigned(t))
	if answer := exchange(t, s.address, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"); !strings.HasPrefix(answer, "HTTP/1.0 400 ") {
		t.Errorf("%q", answer)
	}
	_, err := tls.Dial("tcp", serve(t, nil).address, &tls.Config{InsecureSkipVerify: true})
	if err == nil {
		t.Error("TLS with a service that speaks plain HTTP")
	}
	if a, err := s.call("GET", "/healthz", ""); err != nil || a.StatusCode != 200 {
		t.Errorf("%v, %v", a, err)
	}
}
