// Serve measures the HTTP service under load, with the load generator on the same machine: searches by code, by vector
// and by batches of vectors in an index of random 64-bit codes, compared through the same generator with PING of
// redis-server and with FAISS behind a plain HTTP server in Python; the processor time of a request beyond the search
// itself; memory; idle connections; and writes. It prints a table.
//
//	go build -o /tmp/hashgrove ./cmd/hashgrove && go run -C x/bench ./serve -program /tmp/hashgrove
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"hashgrove/internal/model"
)

// settings are the flags.
type settings struct {
	program, redis, python string
	items, idle            int
	connections            int
	duration               time.Duration
	perBatch               int
}

func main() {
	log.SetFlags(0)
	var o settings
	flag.StringVar(&o.program, "program", "../bin/hashgrove", "the program to run")
	flag.StringVar(&o.redis, "redis", "redis-server", "Redis, or nothing to leave it out")
	flag.StringVar(&o.python, "python", "/usr/bin/python3", "a Python that has faiss, or nothing to leave it out")
	flag.IntVar(&o.items, "items", 1_000_000, "items in the index")
	flag.IntVar(&o.idle, "idle", 10_000, "idle connections")
	flag.IntVar(&o.connections, "connections", 16, "connections of the load")
	flag.DurationVar(&o.duration, "duration", 5*time.Second, "of each load")
	flag.IntVar(&o.perBatch, "batch", 1000, "vectors in a batch")
	flag.Parse()
	check(run(context.Background(), o))
}

func run(ctx context.Context, o settings) error {
	dir, err := os.MkdirTemp("", "serve")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	m, err := train(ctx, filepath.Join(dir, "model.hgm"))
	if err != nil {
		return err
	}
	path, empty := filepath.Join(dir, "codes.hgi"), filepath.Join(dir, "empty.hgi")
	if _, err := build(ctx, empty, m, 0); err != nil {
		return err
	}
	codes, err := build(ctx, path, m, o.items)
	if err != nil {
		return err
	}
	q := draw(codes, max(10_000, 2*o.perBatch))
	d, err := measureDirect(ctx, path, m, q, o.perBatch)
	if err != nil {
		return err
	}
	fmt.Printf("%d random %d-bit codes, k = %d, %d connections, %v each, %d cores, generator on the same machine\n\n",
		o.items, bits, k, o.connections, o.duration, runtime.NumCPU())
	if err := o.searches(path, q, d); err != nil {
		return err
	}
	if err := o.peers(dir, codes, q); err != nil {
		return err
	}
	fmt.Println()
	if err := o.holding(path, empty); err != nil {
		return err
	}
	return o.writes(ctx, dir, m)
}

// serve starts the service.
func (o settings) serve(path string) (*process, error) {
	p, err := start(time.Minute, o.program, "serve", "bench="+path, "--listen", "127.0.0.1:PORT", "--log", "errors")
	if err != nil {
		return nil, err
	}
	return p, o.untilReady(p)
}

// untilReady waits until the service reports that it is ready.
func (o settings) untilReady(p *process) error {
	l := load{
		address: p.address, connections: 1, duration: 10 * time.Millisecond, read: readHTTP,
		requests: [][]byte{httpRequest("GET", "/readyz", p.address, "text/plain", nil)},
	}
	var err error
	for range 600 {
		if _, err = l.run(p); err == nil {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	p.stop()
	return fmt.Errorf("the service is not ready: %w: %s", err, p.said)
}

const collection = "/v1/collections/bench"

// searches measures searches and prints the first rows of the table.
func (o settings) searches(path string, q queries, d direct) error {
	p, err := o.serve(path)
	if err != nil {
		return err
	}
	defer p.stop()
	fmt.Println("| load | requests/s | queries/s | p50 | p99 | processor time per query | without HTTP | the rest |")
	fmt.Println("|---|---|---|---|---|---|---|---|")
	packed := fmt.Sprintf("%s/search?k=%d&fields=", collection, k)
	health := load{
		address: p.address, connections: o.connections, duration: o.duration, read: readHTTP,
		requests: [][]byte{httpRequest("GET", "/healthz", p.address, "text/plain", nil)},
	}
	f, err := health.run(p)
	if err != nil {
		return err
	}
	floor := f.cpu / time.Duration(f.requests)
	fmt.Printf("| GET /healthz, which does nothing | %.0f | | %s | %s | %s | | %s |\n",
		f.perSecond(), short(f.p50), short(f.p99), short(floor), short(floor))
	for _, c := range []struct {
		name, path, kind string
		bodies           [][]byte
		queries          int
		direct           time.Duration
	}{
		{"by code, near an item", collection + "/search", "application/json", codeBodies(q.near), 1, d.near},
		{"by code, random", collection + "/search", "application/json", codeBodies(q.random), 1, d.random},
		{"by vector, packed", packed, "application/octet-stream", batchBodies(q.vectors, 1), 1, d.vector},
		{"by vector", collection + "/search", "application/json", vectorBodies(q.vectors), 1, d.vector},
		{fmt.Sprintf("by %d vectors", o.perBatch), packed, "application/octet-stream", batchBodies(q.vectors, o.perBatch),
			o.perBatch, d.batch},
	} {
		f, err := o.load(p, c.path, c.kind, c.bodies)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		cpu := f.cpu / time.Duration(f.requests*c.queries)
		fmt.Printf("| %s | %.0f | %.0f | %s | %s | %s | %s | %s |\n", c.name, f.perSecond(), f.perSecond()*float64(c.queries),
			short(f.p50), short(f.p99), short(cpu), short(c.direct), short(cpu-c.direct))
	}
	return nil
}

// load sends bodies to the service.
func (o settings) load(p *process, path, kind string, bodies [][]byte) (figures, error) {
	l := load{address: p.address, connections: o.connections, duration: o.duration, read: readHTTP}
	for _, b := range bodies {
		l.requests = append(l.requests, httpRequest("POST", path, p.address, kind, b))
	}
	return l.run(p)
}

// peers measures Redis and FAISS if they are installed.
func (o settings) peers(dir string, codes []uint64, q queries) error {
	row := func(name string, f figures) {
		cpu := f.cpu / time.Duration(f.requests)
		fmt.Printf("| %s | %.0f | %.0f | %s | %s | %s | | |\n",
			name, f.perSecond(), f.perSecond(), short(f.p50), short(f.p99), short(cpu))
	}
	if o.redis != "" {
		p, err := start(10*time.Second, o.redis, "--port", "PORT", "--bind", "127.0.0.1", "--save", "", "--dir", dir)
		if err != nil {
			return fmt.Errorf("starting Redis (-redis= leaves it out): %w", err)
		}
		l := load{
			address: p.address, connections: o.connections, duration: o.duration, read: readPong,
			requests: [][]byte{[]byte("*1\r\n$4\r\nPING\r\n")},
		}
		f, err := l.run(p)
		p.stop()
		if err != nil {
			return err
		}
		row("PING of redis-server", f)
	}
	if o.python != "" {
		path := filepath.Join(dir, "codes.npy")
		if err := saveCodes(path, codes); err != nil {
			return err
		}
		p, err := start(time.Minute, o.python, "faiss_serve.py", path, "PORT")
		if err != nil {
			return fmt.Errorf("starting FAISS (-python= leaves it out): %w", err)
		}
		f, err := o.load(p, "/search", "application/json", codeBodies(q.random))
		p.stop()
		if err != nil {
			return err
		}
		row("FAISS IndexBinaryFlat behind Python's http.server, by code", f)
	}
	return nil
}

// holding measures the memory of the items and of idle connections.
func (o settings) holding(path, empty string) error {
	p, err := o.serve(empty)
	if err != nil {
		return err
	}
	base, err := p.memory()
	p.stop()
	if err != nil {
		return err
	}
	if p, err = o.serve(path); err != nil {
		return err
	}
	defer p.stop()
	time.Sleep(2 * time.Second) // freed memory returns to the system
	full, err := p.memory()
	if err != nil {
		return err
	}
	fmt.Printf("- memory: %.1f MB with no items, %.1f MB with %d: %.1f bytes per item\n",
		mega(base), mega(full), o.items, float64(full-base)/float64(o.items))
	held, err := o.connect(p)
	defer func() {
		for _, c := range held {
			_ = c.Close()
		}
	}()
	if err != nil {
		return err
	}
	with, err := p.memory()
	if err != nil {
		return err
	}
	search := httpRequest("POST", collection+"/search", p.address, "application/json", []byte(`{"id":1,"k":10}`))
	l := load{address: p.address, connections: 1, duration: time.Second, read: readHTTP, requests: [][]byte{search}}
	f, err := l.run(p)
	if err != nil {
		return err
	}
	fmt.Printf("- %d idle connections held: %.1f MB more, %.1f KB each; a search beside them has p50 %s, p99 %s\n",
		len(held), mega(with-full), float64(with-full)/1024/float64(len(held)), short(f.p50), short(f.p99))
	return nil
}

// connect opens idle connections, each after one request.
func (o settings) connect(p *process) ([]net.Conn, error) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return nil, err
	}
	if limit.Max < uint64(o.idle)+200 {
		return nil, fmt.Errorf("%d idle connections need more open files than the %d allowed: give fewer with -idle",
			o.idle, limit.Max)
	}
	limit.Cur = limit.Max
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return nil, err
	}
	request := httpRequest("GET", "/healthz", p.address, "text/plain", nil)
	var held []net.Conn
	for range o.idle {
		c, err := net.Dial("tcp", p.address)
		if err != nil {
			return held, err
		}
		held = append(held, c)
		if _, err := c.Write(request); err != nil {
			return held, err
		}
		buffer := make([]byte, 4096)
		if n, err := c.Read(buffer); err != nil || n < 15 || string(buffer[9:12]) != "200" {
			return held, errors.Join(err, fmt.Errorf("connection %d: %q", len(held), buffer[:n]))
		}
	}
	return held, nil
}

// writes measures durable writes: one after another, many at once, and many in one request.
func (o settings) writes(ctx context.Context, dir string, m *model.Model) error {
	path := filepath.Join(dir, "writes.hgi")
	if _, err := build(ctx, path, m, min(o.items, 100_000)); err != nil {
		return err
	}
	p, err := o.serve(path)
	if err != nil {
		return err
	}
	defer p.stop()
	rng := rand.New(rand.NewPCG(5, 5))
	code := func() []byte { return packed(rng.Uint64()) }
	one, many := [][]byte{}, [][]byte{}
	for i := range 20_000 {
		path := fmt.Sprintf("%s/items/%d", collection, 2_000_000+i)
		body := fmt.Appendf(nil, `{"code":"%x","label":"class 1"}`, code())
		one = append(one, httpRequest("PUT", path, p.address, "application/json", body))
	}
	for i := range 20 {
		body := []byte(`{"items":[`)
		for j := range 1000 {
			if j > 0 {
				body = append(body, ',')
			}
			body = fmt.Appendf(body, `{"id":%d,"code":"%x"}`, 3_000_000+1000*i+j, code())
		}
		many = append(many, httpRequest("POST", collection+"/items", p.address, "application/json", append(body, "]}"...)))
	}
	for _, c := range []struct {
		name        string
		connections int
		requests    [][]byte
		items       int
	}{
		{"one after another", 1, one, 1},
		{fmt.Sprintf("one by one over %d connections", 4*o.connections), 4 * o.connections, one, 1},
		{"1000 in a request, one after another", 1, many, 1000},
	} {
		l := load{address: p.address, connections: c.connections, duration: o.duration, requests: c.requests, read: readHTTP}
		f, err := l.run(p)
		if err != nil {
			return fmt.Errorf("writes %s: %w", c.name, err)
		}
		fmt.Printf("- writes %s: %.0f items/s, p50 %s, p99 %s\n",
			c.name, f.perSecond()*float64(c.items), short(f.p50), short(f.p99))
	}
	return nil
}

func mega(bytes int) float64 { return float64(bytes) / (1 << 20) }

// short formats a time with about three digits.
func short(d time.Duration) string {
	switch {
	case d > 100*time.Millisecond || d < -100*time.Millisecond:
		return d.Round(time.Millisecond).String()
	case d > time.Millisecond || d < -time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	}
	return d.Round(100 * time.Nanosecond).String()
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
