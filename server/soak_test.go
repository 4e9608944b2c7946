//go:build unix

package server_test

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/bits"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hashgrove/internal/index"
	"hashgrove/internal/model"
	"hashgrove/internal/store"
)

// TestSoak lets the program serve for a while, HASHGROVE_SOAK=5m for instance, as the world would use it: clients that
// search, encode, write, delete, reload and take backups, others that ask for what cannot be done, are slow, or hang up.
// Every answer is compared with what the client knows, and in the end the process has no more goroutines, open files and
// memory than after the first tenth of the time, its log holds no error, and it ends when it is told to.

// Four clients send a request every soakPause, or as fast as they are answered, and two more misbehave at a fifth of that.
const (
	soakClients = 4
	soakItems   = 150 // ids that a client writes
	soakPause   = 4 * time.Millisecond
)

// soaker is a client. Only it writes items with its label, so it knows what a search among them must find.
type soaker struct {
	p     *running
	m     *model.Model
	label string
	first int // id
	rng   *rand.Rand
	dir   string
	codes map[int]uint64 // of its items
	sent  *atomic.Int64
}

func TestSoak(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program and runs it")
	}
	lasts := 2 * time.Second
	if text := os.Getenv("HASHGROVE_SOAK"); text != "" {
		var err error
		lasts, err = time.ParseDuration(text)
		ok(t, err)
	}
	seed := uint64(time.Now().UnixNano())
	if n, err := strconv.ParseUint(os.Getenv("HASHGROVE_SEED"), 10, 64); err == nil {
		seed = n
	}
	t.Logf("seed %d, which HASHGROVE_SEED repeats", seed)
	files := makeFiles(t, t.TempDir())
	models, err := learned()
	ok(t, err)
	p := run(t, files.shop, "--vectors", files.vectors, "--id-column", "id", "--log", "errors")
	var sent, broken atomic.Int64
	clients := make([]*soaker, soakClients)
	for i := range clients {
		clients[i] = &soaker{p: p, m: models["shop"], label: fmt.Sprint("client ", i), first: 1_000_000 * (i + 1),
			rng: rand.New(rand.NewPCG(seed, uint64(i))), dir: t.TempDir(), codes: map[int]uint64{}, sent: &sent}
	}
	soak := func(d time.Duration) {
		var wg sync.WaitGroup
		until := time.Now().Add(d)
		errs := make([]error, soakClients)
		for i, c := range clients {
			wg.Go(func() {
				for time.Now().Before(until) && errs[i] == nil {
					errs[i] = c.step()
					time.Sleep(soakPause)
				}
			})
		}
		for i := range 2 {
			wg.Go(func() {
				rng := rand.New(rand.NewPCG(seed, uint64(100+i)))
				for time.Now().Before(until) {
					misbehave(p.address, rng)
					broken.Add(1)
					time.Sleep(5 * soakPause)
				}
			})
		}
		wg.Wait()
		p.client.CloseIdleConnections()
		if err := errors.Join(errs...); err != nil {
			t.Fatalf("after %d requests: %v\n%s", sent.Load(), err, errorsOf(p.said.String()))
		}
	}
	soak(lasts / 10)
	before := p.calm(t)
	soak(lasts - lasts/10)
	after, more := p.calm(t), true
	for began := time.Now(); more && time.Since(began) < patience; after = p.calm(t) { // a busy machine ends things late
		more = after[0] > before[0]+20 || after[1] > before[1]+20 || after[2] > before[2]*3/2+64
	}
	t.Logf("%d requests in %v and %d that were broken off; goroutines, files, MB before and after: %v, %v",
		sent.Load(), lasts, broken.Load(), before, after)
	if more {
		t.Errorf("goroutines, open files and MB were %v after a tenth of the time and are %v at the end", before, after)
	}
	p.stop(t)
	if said := errorsOf(p.said.String()); said != "" {
		t.Errorf("the log has errors:\n%s", said)
	}
	ok(t, clients[0].compare(files.shop, clients))
	t.Logf("count: requests of the soak %d", sent.Load())
	t.Logf("count: connections broken off %d", broken.Load())
}

// errorsOf returns those lines of a log that are about the service and not about what clients did wrong.
func errorsOf(said string) (lines string) {
	for line := range strings.Lines(said) {
		refused := strings.Contains(line, "level=WARN msg=request ") || strings.Contains(line, "level=INFO")
		if !refused && (strings.Contains(line, "level=") || strings.HasPrefix(line, "panic") || strings.HasPrefix(line, "fatal")) {
			lines += line
		}
	}
	return lines
}

// calm waits until nothing runs and tells goroutines, open files and resident megabytes of the process.
func (p *running) calm(t *testing.T) (now [3]int) {
	t.Helper()
	for range 600 { // until those that were slow are given up
		before := now
		_, text, _ := strings.Cut(p.must(t, 200, "GET", "/metrics", ""), "\ngo_goroutines ")
		_, err := fmt.Sscan(text, &now[0])
		ok(t, err)
		proc := "/proc/" + strconv.Itoa(p.cmd.Process.Pid)
		open, _ := os.ReadDir(proc + "/fd") // elsewhere than on Linux there is none
		status, _ := os.ReadFile(proc + "/status")
		now[1] = len(open)
		if _, text, found := strings.Cut(string(status), "\nVmRSS:"); found {
			_, err := fmt.Sscan(text, &now[2])
			ok(t, err)
			now[2] >>= 10
		}
		if now == before {
			break
		}
		time.Sleep(200 * time.Millisecond)
	}
	return now
}

// step sends a request and compares the answer.
func (c *soaker) step() error {
	c.sent.Add(1)
	id := c.first + c.rng.IntN(soakItems)
	switch n := c.rng.IntN(100); {
	case n < 30:
		return c.search()
	case n < 45:
		return c.encode()
	case n < 65:
		code := c.rng.Uint64()
		if err := c.want(200, "PUT", shop+"/items/"+strconv.Itoa(id), "{"+c.item(code)+"}", nil); err != nil {
			return err
		}
		c.codes[id] = code
	case n < 73:
		return c.many()
	case n < 81:
		status := 404
		if _, there := c.codes[id]; there {
			status = 200
		}
		delete(c.codes, id)
		return c.want(status, "DELETE", shop+"/items/"+strconv.Itoa(id), "", nil)
	case n < 88:
		return c.get(id)
	case n < 89:
		return c.backup()
	case n < 90:
		return c.want(200, "POST", shop+"/reload", "", nil)
	default:
		bad := mistakes[c.rng.IntN(len(mistakes))]
		return c.want(bad.status, bad.method, bad.path, bad.body, nil)
	}
	return nil
}

// mistakes are requests that are refused.
var mistakes = []struct {
	status             int
	method, path, body string
}{
	{400, "POST", shop + "/search", `{"vector":[1,2`}, {400, "POST", shop + "/search", `{"vector":[1,2]}`},
	{400, "POST", shop + "/search", `{"code":"xyz"}`}, {404, "POST", shop + "/search", `{"id":"nobody"}`},
	{400, "POST", shop + "/search", `{"id":1,"k":1000000}`}, {400, "POST", shop + "/search", `{"id":1,"where":"price <"}`},
	{404, "GET", "/v1/collections/none/items", ""}, {405, "DELETE", shop + "/search", ""}, {404, "GET", "/../etc/passwd", ""},
	{400, "PUT", shop + "/items/9", `{"code":"12"}`}, {404, "PATCH", shop + "/items/9999999999", `{"attributes":{"price":1}}`},
	{409, "POST", shop + "/search", `{"id":1,"fingerprint":"00000000000000000000000000000000"}`},
	{400, "POST", shop + "/encode", `{"vectors":[[1,2,3,1e99]]}`},
}

// want sends a request that is answered with a status, and reads the answer into v if it is not nil.
func (c *soaker) want(status int, method, path, body string, v any) error {
	a, err := c.p.call(method, path, body)
	if err == nil && a.StatusCode != status {
		err = fmt.Errorf("status %d, want %d: %.300s", a.StatusCode, status, a.body)
	}
	if err == nil && v != nil {
		err = json.Unmarshal(a.body, v)
	}
	if err != nil {
		return fmt.Errorf("%s %s %.200s: %w", method, path, body, err)
	}
	return nil
}

// item returns an item of this client, without its id.
func (c *soaker) item(code uint64) string {
	return fmt.Sprintf(`"code":"%016x","label":%q,"attributes":{"price":%d}`, code, c.label, code%2)
}

// search looks for the nearest of this client's items and compares with the definition: the smallest distances, and
// every hit at the distance it says.
func (c *soaker) search() error {
	query, k, parity := c.rng.Uint64(), 1+c.rng.IntN(12), c.rng.IntN(3) // 2: both
	where := "label = " + strconv.Quote(c.label)
	if parity < 2 {
		where += " and price = " + strconv.Itoa(parity)
	}
	var a found
	body := fmt.Sprintf(`{"code":"%016x","k":%d,"rank":"hamming","where":%q}`, query, k, where)
	if err := c.want(200, "POST", shop+"/search", body, &a); err != nil {
		return err
	}
	var want []int
	for _, code := range c.codes {
		if parity == 2 || int(code%2) == parity {
			want = append(want, bits.OnesCount64(code^query))
		}
	}
	slices.Sort(want)
	want = want[:min(k, len(want))]
	if len(a.Results) != 1 || len(a.Results[0].Hits) != len(want) {
		return fmt.Errorf("%s: answer %+v, want distances %v", body, a, want)
	}
	seen := map[int]bool{}
	for i, h := range a.Results[0].Hits {
		code, there := c.codes[h.ID]
		if !there || seen[h.ID] || h.Distance != want[i] || bits.OnesCount64(code^query) != want[i] || h.Label != c.label {
			return fmt.Errorf("%s: hit %+v, want distances %v", body, h, want)
		}
		seen[h.ID] = true
	}
	return nil
}

// encode compares codes with those of the model.
func (c *soaker) encode() error {
	row := []float32{float32(c.rng.NormFloat64()), float32(c.rng.NormFloat64()), float32(c.rng.NormFloat64()), 1}
	body, err := json.Marshal(map[string]any{"vectors": [][]float32{row}})
	if err != nil {
		return err
	}
	var a struct{ Codes []string }
	if err := c.want(200, "POST", shop+"/encode", string(body), &a); err != nil {
		return err
	}
	code, err := c.m.EncodeRow(row)
	if want := fmt.Sprintf("[%016x]", code[0]); err != nil || fmt.Sprint(a.Codes) != want {
		return fmt.Errorf("%v is encoded as %v, want %s, %v", row, a.Codes, want, err)
	}
	return nil
}

// many writes or deletes several items at once.
func (c *soaker) many() error {
	change := map[int]uint64{}
	for range 1 + c.rng.IntN(20) {
		change[c.first+c.rng.IntN(soakItems)] = c.rng.Uint64()
	}
	var list []string
	path, name := shop+"/items", "items"
	remove := c.rng.IntN(2) == 0
	for id, code := range change {
		if remove {
			list = append(list, strconv.Itoa(id))
			continue
		}
		list = append(list, fmt.Sprintf(`{"id":%d,%s}`, id, c.item(code)))
	}
	if remove {
		path, name = shop+"/delete", "ids"
	}
	if err := c.want(200, "POST", path, `{"`+name+`":[`+strings.Join(list, ",")+"]}", nil); err != nil {
		return err
	}
	if remove {
		maps.DeleteFunc(c.codes, func(id int, _ uint64) bool { _, gone := change[id]; return gone })
	} else {
		maps.Copy(c.codes, change)
	}
	return nil
}

func (c *soaker) get(id int) error {
	code, there := c.codes[id]
	if !there {
		return c.want(404, "GET", shop+"/items/"+strconv.Itoa(id), "", nil)
	}
	var a struct{ Item storedItem }
	if err := c.want(200, "GET", shop+"/items/"+strconv.Itoa(id), "", &a); err != nil {
		return err
	}
	it := a.Item
	if want := fmt.Sprintf("%016x", code); it.Code != want || it.Label != c.label || it.ID != id {
		return fmt.Errorf("item %d is %+v, want the code %s", id, it, want)
	}
	return nil
}

// backup takes a copy of the index, which holds the items of this client as they are.
func (c *soaker) backup() error {
	a, err := c.p.call("GET", shop+"/backup", "")
	if err != nil || a.StatusCode != 200 {
		return fmt.Errorf("backup: %+v, %w", a, err)
	}
	path := filepath.Join(c.dir, "copy.hgi")
	if err := os.WriteFile(path, a.body, 0o600); err != nil {
		return err
	}
	return cmp.Or(c.compare(path, []*soaker{c}), os.Remove(path))
}

// compare compares the items of clients with those in a file, which is sound.
func (c *soaker) compare(path string, clients []*soaker) error {
	if _, err := store.Verify(ctx, path, nil); err != nil {
		return err
	}
	s, err := store.Open(ctx, path, store.OpenOptions{ReadOnly: true, Wait: time.Minute})
	if err != nil {
		return err
	}
	defer s.Close()
	x := s.Snapshot()
	for _, c := range clients {
		for i := range soakItems {
			id := c.first + i
			code, want := c.codes[id]
			it, there := x.Get(index.Int(int64(id)))
			if there != want || there && (it.Code[0] != code || it.Label != c.label) {
				return fmt.Errorf("%s: item %d: %+v, there: %t; want %x, there: %t", path, id, it, there, code, want)
			}
		}
	}
	return nil
}

// misbehave opens a connection and breaks it off: in the middle of a head or a body, after a request whose answer it does
// not read, after some bytes that come slowly, or with bytes that are no request.
func misbehave(address string, rng *rand.Rand) {
	conn, err := net.DialTimeout("tcp", address, 10*time.Second)
	if err != nil {
		return // the service is ending; others notice if it is not
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	body := `{"id":1,"k":300}`
	request := fmt.Sprintf("POST %s/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		shop, len(body), body)
	switch rng.IntN(5) {
	case 0:
		_, _ = io.WriteString(conn, request[:rng.IntN(len(request))])
	case 1:
		_, _ = io.WriteString(conn, request)
	case 2:
		for i := range min(40, len(request)) {
			_, _ = io.WriteString(conn, request[i:i+1])
			time.Sleep(time.Duration(rng.IntN(5)) * time.Millisecond)
		}
	case 3:
		garbage := make([]byte, 1+rng.IntN(200))
		for i := range garbage {
			garbage[i] = byte(rng.Uint32())
		}
		_, _ = conn.Write([]byte(hex.EncodeToString(garbage)[:1+rng.IntN(len(garbage))] + string(garbage)))
	case 4:
		_, _ = io.WriteString(conn, request)
		_, _ = conn.Read(make([]byte, 1+rng.IntN(100)))
	}
	if rng.IntN(2) == 0 {
		_ = conn.(*net.TCPConn).SetLinger(0) // reset
	}
}
