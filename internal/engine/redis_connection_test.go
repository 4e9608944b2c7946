package engine_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hashgrove/internal/engine"
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/testkit/redistest"
	"hashgrove/internal/testkit/searchtest"
)

// relay takes connections and passes them on to a socket; pass copies what the client sends.
func relay(t *testing.T, l net.Listener, socket string, pass func(server io.Writer, client io.Reader)) {
	t.Helper()
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer client.Close()
				server, err := net.Dial("unix", socket)
				if err != nil {
					return
				}
				defer server.Close()
				go io.Copy(client, server)
				pass(server, client)
			}()
		}
	}()
}

// checkRedisPasswords: no error shows a password, and the server asks for one.
func checkRedisPasswords(t *testing.T, s *redistest.Server) {
	const secret = "hunter2hunter2"
	for _, target := range []engine.Target{
		{URL: s.URL, Password: secret},
		{URL: s.URL},
		{URL: strings.Replace(s.URL, "://", "://user:"+secret+"@", 1)},
		{URL: s.URL + "?password=" + secret},
		{URL: "redis://u:" + secret + "%zz@/x"},
		{URL: "redis://u@127.0.0.1:1/0", Password: secret},
		{URL: "redis://u@127.0.0.1:1/zero", Password: secret},
		{URL: "rediss://u@127.0.0.1:1/0?cacert=/nowhere", Password: secret},
		{URL: s.URL + "?database=3", Password: secret},
	} {
		e, err := engine.Open(t.Context(), target)
		if err == nil {
			_, err = e.Info(t.Context())
			e.Close()
		}
		if err == nil || strings.Contains(fmt.Sprintf("%v %+v", err, err), secret) {
			t.Errorf("the error is %v", err)
		}
	}
	t.Setenv("REDISCLI_AUTH", redistest.Password)
	e := openTarget(t, engine.Target{URL: strings.Replace(s.URL, "://", "://default@", 1) + "?db=3", Table: "other database"})
	if _, err := e.Prepare(t.Context(), engine.Space{Bits: 8}); err != nil {
		t.Errorf("the password of the environment: %v", err)
	}
	if _, err := openRedis(t, s, "other database", "").Info(t.Context()); !errors.Is(err, engine.ErrNoTable) {
		t.Errorf("another database: %v", err)
	}
}

// checkRedisSecure pushes over TLS, with a certificate that only a file knows.
func checkRedisSecure(t *testing.T, s *redistest.Server) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o666); err != nil {
		t.Fatal(err)
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
	})
	if err != nil {
		t.Fatal(err)
	}
	relay(t, l, s.Socket, func(server io.Writer, client io.Reader) { io.Copy(server, client) })
	target := engine.Target{URL: "rediss://" + l.Addr().String() + "/0", Password: redistest.Password, Table: "secure"}
	if _, err := openTarget(t, target).Prepare(t.Context(), engine.Space{Bits: 64}); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a certificate that nobody knows: %v", err)
	}
	target.URL += "?cacert=" + file
	if _, err := engine.Push(t.Context(), openTarget(t, target), searchtest.Items(50, 64, 1), engine.PushOptions{}); err != nil {
		t.Error(err)
	}
}

// checkRedisSlow: batches that are not answered in time are sent again, and every item is there once.
func checkRedisSlow(t *testing.T, s *redistest.Server) {
	ctx, e := t.Context(), openRedis(t, s, "slow", "")
	b := searchtest.Items(300, 64, 1)
	paused := false
	r, err := engine.Push(ctx, e, b, engine.PushOptions{
		Batch: 50, InFlight: 1, Timeout: 300 * time.Millisecond, Retries: 100, Wait: time.Millisecond,
		Progress: func(done int) {
			if done >= 100 && !paused {
				paused = true
				if _, err := engine.RedisDo(ctx, e, "CLIENT", "PAUSE", "800", "WRITE"); err != nil {
					t.Error(err)
				}
			}
		},
	})
	if n, _ := e.Count(ctx); err != nil || n != 300 || r.Retries == 0 {
		t.Errorf("%d items, %+v, %v", n, r, err)
	}
}

// checkRedisCutOff ends connections in the middle of batches.
func checkRedisCutOff(t *testing.T, s *redistest.Server) {
	l, err := net.Listen("unix", filepath.Join(filepath.Dir(s.Socket), "cut"))
	if err != nil {
		t.Fatal(err)
	}
	var connections atomic.Int64
	relay(t, l, s.Socket, func(server io.Writer, client io.Reader) {
		io.CopyN(server, client, 20_000*connections.Add(1)) // a batch has more than that at first
	})
	ctx, b := t.Context(), searchtest.Items(1000, 64, 1)
	target := engine.Target{URL: "redis+unix://" + l.Addr().String(), Password: redistest.Password, Table: "cut", InFlight: 3}
	e := openTarget(t, target)
	r, err := engine.Push(ctx, e, b, engine.PushOptions{Batch: 100, InFlight: 3, Wait: time.Millisecond, Retries: 50})
	if err != nil || r.Written != 1000 || connections.Load() < 4 {
		t.Errorf("%+v, %v, %d connections", r, err, connections.Load())
	}
	whole := openRedis(t, s, "cut", "")
	report, err := compared(t, whole, b, engine.CheckOptions{Queries: hamming.NewCodes(1, 64)})
	if err != nil || !report.Conforms() || report.Equal != 1000 {
		t.Errorf("%+v, %v", report, err)
	}
}

// checkRedisReplaced replaces items and ends the server: what it reads from its file must be the new ones.
func checkRedisReplaced(t *testing.T, s *redistest.Server) {
	ctx, e := t.Context(), openRedis(t, s, "replaced", "")
	b := searchtest.Items(200, 64, 1)
	if _, err := engine.Push(ctx, e, b, engine.PushOptions{}); err != nil {
		t.Fatal(err)
	}
	other := searchtest.Items(200, 64, 2)
	other.IDs = b.IDs
	if _, err := engine.Push(ctx, e, other, engine.PushOptions{}); err != nil {
		t.Fatal(err)
	}
	s.Stop(t)
	s.Restart(t)
	f, err := index.Parse(`price < 20`)
	if err != nil {
		t.Fatal(err)
	}
	for { // the server may still be reading its file
		r, err := compared(t, e, other, engine.CheckOptions{
			Queries: searchtest.Items(20, 64, 4).Codes, Radius: -1, Filters: []index.Filter{f},
		})
		if errors.Is(err, engine.ErrTemporary) {
			time.Sleep(5 * time.Millisecond)
			continue
		}
		if err != nil || !r.Conforms() {
			t.Errorf("%+v, %v", r, err)
		}
		return
	}
}

// TestRedisHostile: a server that answers nonsense costs an error and little memory.
func TestRedisHostile(t *testing.T) {
	for _, answer := range []string{
		"hello\r\n", "$99999999999999\r\n", "$-2\r\n", "*1000000000\r\n", "*100000000\r\n:1\r\n", strings.Repeat("*1\r\n", 1000),
		"+" + strings.Repeat("x", 1<<20), "$3\r\nabcde", ":abc\r\n", "\r\n", "+OK\n", "$500000000\r\nabc", "*-7\r\n", "",
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				io.WriteString(c, answer)
				c.(*net.TCPConn).CloseWrite()
				go func() { io.Copy(io.Discard, c); c.Close() }()
			}
		}()
		e := openTarget(t, engine.Target{URL: "redis://" + l.Addr().String()})
		if _, err := e.Info(t.Context()); err == nil {
			t.Errorf("a server that answers %.20q", answer)
		}
		l.Close()
	}
}
