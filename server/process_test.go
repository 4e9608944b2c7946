//go:build unix

package server_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"hashgrove/internal/index"
	"hashgrove/internal/store"
	"hashgrove/internal/testkit/needs"
)

// The tests here run the program itself, as an administrator would, and end it as they should not.

// program is the path of the program, built once.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "hashgrove-serve-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "hashgrove")
	out, err := exec.Command("go", "build", "-o", path, "hashgrove/cmd/hashgrove").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, out)
	}
	return path, err
})

func TestMain(m *testing.M) {
	code := m.Run()
	if built { // asking for it would build it
		if path, err := program(); err == nil {
			_ = os.RemoveAll(filepath.Dir(path))
		}
	}
	os.Exit(code)
}

// built tells that a test has asked for the program.
var built bool

// running is a process of the program.
type running struct {
	*service
	cmd  *exec.Cmd
	said *logText
}

var servedAt = regexp.MustCompile(`http://(127\.0\.0\.1:\d+)`)

// run starts the program on an index, as the collection shop, and waits until it is ready.
func run(t *testing.T, path string, args ...string) *running {
	t.Helper()
	built = true
	file, err := program()
	ok(t, err)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 50}, Timeout: patience}
	p := &running{&service{client: client}, nil, new(logText)}
	p.cmd = exec.Command(file, append([]string{"serve", "shop=" + path, "--listen", "127.0.0.1:0"}, args...)...)
	p.cmd.Stderr = p.said
	p.cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir()) // one that is killed leaves its uploads
	out, err := p.cmd.StdoutPipe()
	ok(t, err)
	ok(t, p.cmd.Start())
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait() // most often a test has waited for it
	})
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if at := servedAt.FindStringSubmatch(lines.Text()); at != nil {
			p.address, p.url = at[1], at[0]
			go func() { _, _ = io.Copy(p.said, out) }()
			return p
		}
	}
	t.Fatalf("the program does not serve: %v, %s", p.cmd.Wait(), p.said)
	return nil
}

// kill ends the process as a power cut would.
func (p *running) kill(t *testing.T) {
	t.Helper()
	ok(t, p.cmd.Process.Kill())
	_ = p.cmd.Wait() // says that it was killed
	p.client.CloseIdleConnections()
}

// stop ends the process as an administrator would.
func (p *running) stop(t *testing.T) {
	t.Helper()
	p.client.CloseIdleConnections()
	ok(t, p.cmd.Process.Signal(syscall.SIGTERM))
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v, %s", err, p.said)
	}
}

// A writer of TestKill writes items of its own: their ids leave the writer as the remainder.
const writers, idsOfEach = 4, 60

// state is what an item should be: the version of its code and label, and that of its price.
type state struct{ version, price int }

// writerLog is what a writer knows: the items that were acknowledged, and a change that was not.
type writerLog struct {
	items   map[int]state
	pending func(items map[int]state)
}

func (l *writerLog) settle() {
	if l.pending != nil {
		l.pending(l.items)
	}
	l.pending = nil
}

func codeOf(id, version int) string {
	return fmt.Sprintf("%016x", rand.New(rand.NewPCG(uint64(id), uint64(version))).Uint64())
}

func itemBody(id, version int) string {
	return fmt.Sprintf(`"code":"%s","label":"version %d","attributes":{"price":%d,"of":"%d"}`, codeOf(id, version), version, version, id)
}

// step makes one change and returns whether it was acknowledged.
func (l *writerLog) step(p *running, w, version int, rng *rand.Rand) (bool, error) {
	ids := make([]int, 1+rng.IntN(2)*rng.IntN(20))
	for i := range ids {
		ids[i] = rng.IntN(idsOfEach)*writers + w
	}
	slices.Sort(ids)
	ids = slices.Compact(ids) // a batch with an id twice is refused
	texts := strings.Fields(strings.Trim(fmt.Sprint(ids), "[]"))
	method, path, body := "PUT", shop+"/items/"+texts[0], "{"+itemBody(ids[0], version)+"}"
	change := func(items map[int]state) { items[ids[0]] = state{version, version} }
	good := []int{200}
	switch rng.IntN(6) {
	case 0:
		method, path, body = "DELETE", shop+"/items/"+texts[0], ""
		change = func(items map[int]state) { delete(items, ids[0]) }
		good = []int{200, 404}
	case 1:
		method, path, body = "POST", shop+"/delete", `{"ids":[`+strings.Join(texts, ",")+`]}`
		change = func(items map[int]state) {
			for _, id := range ids {
				delete(items, id)
			}
		}
	case 2:
		method, path, body = "PATCH", shop+"/items/"+texts[0], fmt.Sprintf(`{"attributes":{"price":%d}}`, version)
		change = func(items map[int]state) {
			if s, there := items[ids[0]]; there {
				items[ids[0]] = state{s.version, version}
			}
		}
		good = []int{200, 404}
	case 3:
		var list []string
		for _, id := range ids {
			list = append(list, fmt.Sprintf(`{"id":%d,%s}`, id, itemBody(id, version)))
		}
		method, path, body = "POST", shop+"/items", `{"items":[`+strings.Join(list, ",")+"]}"
		change = func(items map[int]state) {
			for _, id := range ids {
				items[id] = state{version, version}
			}
		}
	}
	l.pending = change
	a, err := p.call(method, path, body)
	if err != nil {
		return false, nil // killed
	}
	for _, status := range good {
		if a.StatusCode == status {
			l.settle()
			return true, nil
		}
	}
	return false, fmt.Errorf("%s %s: status %d: %s", method, path, a.StatusCode, a.body)
}

// storedItem is an item as the service returns it.
type storedItem struct {
	ID         int            `json:"id"`
	Code       string         `json:"code"`
	Label      string         `json:"label"`
	Attributes map[string]any `json:"attributes"`
}

// readItems reads all items through the service.
func readItems(t *testing.T, s *service) map[int]storedItem {
	t.Helper()
	items, after := map[int]storedItem{}, ""
	for {
		var page struct {
			Items []storedItem `json:"items"`
			Total int          `json:"total"`
			Next  *int         `json:"next"`
		}
		ok(t, json.Unmarshal([]byte(s.must(t, 200, "GET", shop+"/items?limit=100"+after, "")), &page))
		for _, it := range page.Items {
			items[it.ID] = it
		}
		if page.Next == nil {
			if page.Total != len(items) {
				t.Fatalf("%d items on all pages, and %d in all", len(items), page.Total)
			}
			return items
		}
		after = "&after=" + strconv.Itoa(*page.Next)
	}
}

// holds tells whether the items of a writer are as its log says.
func (l *writerLog) holds(items map[int]storedItem, w int) error {
	for i := range idsOfEach {
		id := i*writers + w
		want, should := l.items[id]
		have, there := items[id]
		if there != should {
			return fmt.Errorf("id %d: there: %t, should be: %t", id, there, should)
		}
		if !there {
			continue
		}
		expected := storedItem{id, codeOf(id, want.version), fmt.Sprint("version ", want.version),
			map[string]any{"price": float64(want.price), "of": strconv.Itoa(id)}}
		if !reflect.DeepEqual(have, expected) {
			return fmt.Errorf("id %d: have %+v, want %+v", id, have, expected)
		}
	}
	return nil
}

// audit compares the items with the logs of all writers, and counts the changes that were not acknowledged and those
// of them that are there.
func audit(logs []writerLog, items map[int]storedItem) (unfinished, kept int, err error) {
	total := 0
	for w := range logs {
		l := &logs[w]
		err := l.holds(items, w)
		if l.pending != nil {
			unfinished++
			if err == nil {
				l.pending = nil
			} else {
				l.settle()
				kept++
				err = l.holds(items, w)
			}
		}
		if err != nil {
			return 0, 0, fmt.Errorf("writer %d: %w", w, err)
		}
		total += len(l.items)
	}
	if total != len(items) {
		return 0, 0, fmt.Errorf("%d items, want %d", len(items), total)
	}
	return unfinished, kept, nil
}

// searchUntil searches until the service is dead, and counts the answers.
func (p *running) searchUntil(dead <-chan bool) (n int, err error) {
	for {
		select {
		case <-dead:
			return n, err
		default:
		}
		a, failed := p.call("POST", shop+"/search", `{"code":"0123456789abcdef","k":5}`)
		if failed == nil && a.StatusCode == 200 {
			n++
		} else if failed == nil {
			err = fmt.Errorf("a search: %d, %s", a.StatusCode, a.body)
		}
	}
}

// killTimes returns how often TestKill kills: a few times, or HASHGROVE_KILLS times.
func killTimes(t *testing.T) int {
	if text := os.Getenv("HASHGROVE_KILLS"); text != "" {
		n, err := strconv.Atoi(text)
		ok(t, err)
		return n
	}
	return 15
}

// TestKillUnderLoad kills the service while clients write and search, again and again. What was acknowledged is there
// afterwards, what was deleted does not return, and a change that was not acknowledged is there as a whole or not at
// all. HASHGROVE_KILLS=200 does it 200 times.
func TestKillUnderLoad(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program and runs it many times")
	}
	path := filepath.Join(t.TempDir(), "shop.hgi")
	s, err := store.Create(t.Context(), path, store.Options{Bits: 64})
	ok(t, err)
	ok(t, s.Close())
	rng := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
	logs := make([]writerLog, writers)
	for w := range logs {
		logs[w].items = map[int]state{}
	}
	acknowledged, unfinished, kept, searched := 0, 0, 0, 0
	n := killTimes(t)
	for cycle := 1; cycle <= n+1; cycle++ {
		p := run(t, path, "--log", "errors")
		were, are, err := audit(logs, readItems(t, p.service))
		if err != nil {
			t.Fatalf("after %d kills: %v", cycle-1, err)
		}
		unfinished, kept = unfinished+were, kept+are
		if cycle > n {
			p.stop(t)
			break
		}
		acks, searches, errs := make([]int, writers), 0, make([]error, writers+1)
		var wg sync.WaitGroup
		var first sync.Once
		dead, begun := make(chan bool), make(chan bool)
		for w := range writers {
			own := rand.New(rand.NewPCG(rng.Uint64(), uint64(w)))
			wg.Go(func() {
				for i := 0; ; i++ {
					acked, err := logs[w].step(p, w, cycle*100_000+i, own)
					if errs[w] = err; err != nil || !acked {
						return
					}
					acks[w]++
					first.Do(func() { close(begun) })
				}
			})
		}
		wg.Go(func() { searches, errs[writers] = p.searchUntil(dead) })
		if cycle%3 != 0 { // most often when something was written, which a busy machine may take long for
			select {
			case <-begun:
			case <-time.After(patience):
				t.Error("nothing is written")
			}
		}
		time.Sleep(time.Duration(rng.ExpFloat64() * 60 * float64(time.Millisecond)))
		p.kill(t)
		close(dead)
		wg.Wait()
		ok(t, errors.Join(errs...))
		for _, a := range acks {
			acknowledged += a
		}
		searched += searches
	}
	if acknowledged == 0 {
		t.Error("no write was ever acknowledged")
	}
	t.Logf("%d kills: %d changes acknowledged and none lost, %d searches; of %d changes that were not, %d are there",
		n, acknowledged, searched, unfinished, kept)
	t.Logf("count: kills %d", n)
	t.Logf("count: writes acknowledged %d", acknowledged)
	if _, err := store.Verify(t.Context(), path, nil); err != nil {
		t.Error(err)
	}
}

// TestStopFinishesRequests sends SIGTERM while a request is on its way: the service closes its door, answers what has
// begun, and ends well.
func TestStopFinishesRequests(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	f := makeFiles(t, t.TempDir())
	p := run(t, f.shop)
	p.must(t, 200, "GET", "/readyz", "")
	c, err := net.Dial("tcp", p.address)
	ok(t, err)
	defer c.Close()
	body := `{"code":"0f00000000000000","label":"late"}`
	_, err = fmt.Fprintf(c, "PUT %s/items/late HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		shop, len(body), body[:10])
	ok(t, err)
	until(t, "a request on its way", func() bool { return p.gauge(t, "hashgrove_requests_running") >= 2 })
	p.client.CloseIdleConnections()
	ok(t, p.cmd.Process.Signal(syscall.SIGTERM))
	until(t, "a closed door", p.closed)
	_, err = io.WriteString(c, body[10:])
	ok(t, err)
	a, err := http.ReadResponse(bufio.NewReader(c), nil)
	ok(t, err)
	if text, err := io.ReadAll(a.Body); err != nil || a.StatusCode != 200 || !bytes.Contains(text, []byte(`"created":true`)) {
		t.Errorf("the request on its way: %d, %s, %v", a.StatusCode, text, err)
	}
	ok(t, c.Close())
	ended := make(chan error, 1)
	go func() { ended <- p.cmd.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("the program ended with %v: %s", err, p.said)
		}
	case <-time.After(patience):
		t.Fatalf("the program does not end: %s", p.said)
	}
	again := run(t, f.shop)
	again.must(t, 200, "GET", shop+"/items/late", "")
	again.stop(t)
}

// TestFileReplacedUnderneath puts other files in place of the one that is served.
func TestFileReplacedUnderneath(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	dir := t.TempDir()
	f := makeFiles(t, dir)
	models, err := learned()
	ok(t, err)
	p := run(t, f.shop)
	h := startHealthy(p.service)

	// Another index with the same model.
	other := index.NewBatch(64)
	other.Fingerprint = models["shop"].Fingerprint()
	for i := range 400 {
		other.Append(index.Item{ID: index.Int(int64(i + 1)), Code: []uint64{uint64(i)}, Label: "new"})
	}
	next := filepath.Join(dir, "next.hgi")
	writeIndex(t, next, models["shop"], other)
	ok(t, os.Rename(next, f.shop))
	status, text := 0, ""
	if a, err := p.call("PUT", shop+"/items/written", `{"code":"0f00000000000000"}`); err != nil {
		t.Error(err)
	} else {
		status, text = a.StatusCode, string(a.body)
	}
	if text := p.must(t, 200, "POST", shop+"/reload", `{}`); !strings.Contains(text, `"items":400`) && !strings.Contains(text, `"items":401`) {
		t.Errorf("after another file came in its place: %s", text)
	}
	if status == 200 { // then it must be in the file that has the name
		p.must(t, 200, "GET", shop+"/items/written", "")
	} else if status != 503 && status != 409 {
		t.Errorf("a write while another file has the place: %d, %s", status, text)
	}
	p.must(t, 200, "PUT", shop+"/items/after", `{"code":"0f00000000000000"}`)

	// Not an index at all, then nothing at all: the old items stay.
	ok(t, os.WriteFile(next, []byte("not an index"), 0o600))
	ok(t, os.Rename(next, f.shop))
	p.must(t, 503, "POST", shop+"/reload", `{}`)
	p.must(t, 200, "GET", shop+"/items/after", "")
	ok(t, os.Remove(f.shop))
	p.must(t, 503, "POST", shop+"/reload", `{}`)
	p.must(t, 200, "GET", shop+"/items/after", "")
	p.must(t, 200, "GET", "/readyz", "")
	for _, change := range []string{"PUT /items/lost", "DELETE /items/1"} { // nothing is acknowledged that nobody will find
		method, path, _ := strings.Cut(change, " ")
		if a, err := p.call(method, shop+path, `{"code":"0f00000000000000"}`); err != nil || a.StatusCode == 200 {
			t.Errorf("%s without a file: %v, %v", change, a, err)
		}
	}

	// Another model.
	writeIndex(t, next, models["photos"], photoBatch(t))
	ok(t, os.Rename(next, f.shop))
	if text := p.must(t, 200, "POST", shop+"/reload", `{}`); !strings.Contains(text, models["photos"].Fingerprint().String()) {
		t.Errorf("after an index of another model came: %s", text)
	}
	close(h.stop)
	<-h.ended
	if h.err != nil && h.status != http.StatusNotFound { // the items are others at last
		t.Errorf("a search failed meanwhile: %v", h.err)
	}
	p.kill(t)
}

// photoBatch returns one item with a code of the other model.
func photoBatch(t *testing.T) *index.Batch {
	models, err := learned()
	ok(t, err)
	b := index.NewBatch(16)
	b.Fingerprint = models["photos"].Fingerprint()
	b.Append(index.Item{ID: index.Int(1), Code: []uint64{0}})
	return b
}

// TestFileDamagedUnderneath overwrites the middle of a file that is served.
func TestFileDamagedUnderneath(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	f := makeFiles(t, t.TempDir())
	p := run(t, f.shop)
	file, err := os.OpenFile(f.shop, os.O_RDWR, 0)
	ok(t, err)
	info, err := file.Stat()
	ok(t, err)
	junk := bytes.Repeat([]byte("junk"), 1024)
	for at := int64(4 * 4096); at+int64(len(junk)) < info.Size(); at += 8192 {
		_, err = file.WriteAt(junk, at)
		ok(t, err)
	}
	ok(t, file.Close())
	for i := range 20 { // writes may be refused, but the process lives and searches go on
		a, err := p.call("PUT", fmt.Sprintf("%s/items/%d", shop, 10*i+1), `{"code":"0f00000000000000"}`)
		if err != nil || a.StatusCode != 200 && a.StatusCode != 503 && a.StatusCode != 500 {
			t.Fatalf("a write into a damaged file: %v, %v, %s", a, err, p.said)
		}
		p.must(t, 200, "POST", shop+"/search", `{"id":1,"k":3}`)
	}
	if a, err := p.call("POST", shop+"/reload", `{}`); err != nil || a.StatusCode != 200 && a.StatusCode != 503 {
		t.Errorf("%v, %v", a, err)
	}
	p.must(t, 200, "POST", shop+"/search", `{"id":1,"k":3}`)
	p.must(t, 200, "GET", "/healthz", "")
	p.kill(t)
	again, err := program()
	ok(t, err)
	cmd := exec.Command(again, "serve", f.shop, "--listen", "127.0.0.1:0")
	cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir())
	out, err := cmd.CombinedOutput()
	if err == nil || !bytes.Contains(out, []byte(filepath.Base(f.shop))) {
		t.Errorf("serving a damaged file: %v, %s", err, out)
	}
}

// TestManyIdleConnections holds 10,000 connections that do nothing.
func TestManyIdleConnections(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	const n = 10_000
	var limit syscall.Rlimit
	ok(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
	if limit.Max < n+500 {
		needs.Skip(t, needs.Files, n+500, "open files are needed and", limit.Max, "are allowed: raise the limit with ulimit -n")
	}
	limit.Cur = limit.Max
	ok(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit))
	p := run(t, makeFiles(t, t.TempDir()).shop)
	gauge := func(name string) float64 { return p.gauge(t, name) }
	goroutines, memory := gauge("go_goroutines"), gauge("go_memstats_sys_bytes")
	h := startHealthy(p.service)
	conns := p.idle(t, n)
	h.served(t, 20)
	h.end(t)
	more := gauge("go_memstats_sys_bytes") - memory
	t.Logf("%d idle connections: %.1f MB and %.0f goroutines more", n, more/1e6, gauge("go_goroutines")-goroutines)
	if more > n*32<<10 || gauge("go_goroutines")-goroutines > n+100 {
		t.Errorf("%.0f bytes and %.0f goroutines more than before", more, gauge("go_goroutines")-goroutines)
	}
	for _, c := range conns {
		ok(t, c.Close())
	}
	until(t, "an end of their goroutines", func() bool { return gauge("go_goroutines")-goroutines < 20 })
	p.stop(t)
}
