//go:build unix

package server_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
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

	"hashgrove/internal/store"
	"hashgrove/internal/testkit/needs"
	"hashgrove/server"
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
	*server.DrainTime = 0 // nobody watches the services of tests
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
	needs.Check(t, "builds the program and runs it many times")
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
