//go:build unix

package server_test

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"

	"hashgrove/internal/index"
	"hashgrove/internal/store"
	"hashgrove/internal/testkit/needs"
	"hashgrove/server"
)

func TestMain(m *testing.M) {
	*server.DrainTime = 0 // nobody watches the services of tests
	os.Exit(m.Run())
}

// run starts the program on an index, as the collection shop, and waits until it is ready.
func run(t *testing.T, program, path string) (*service, *exec.Cmd) {
	t.Helper()
	cmd := exec.Command(program, "serve", "shop="+path, "--listen", "127.0.0.1:0", "--log", "errors")
	cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir()) // one that is killed leaves its uploads
	out, err := cmd.StdoutPipe()
	ok(t, err)
	ok(t, cmd.Start())
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if url := regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(lines.Text()); url != "" {
			return &service{url: url, client: &http.Client{Transport: &http.Transport{}, Timeout: patience}}, cmd
		}
	}
	t.Fatalf("the program does not serve: %v", cmd.Wait())
	return nil, nil
}

// TestKillUnderLoad kills the service while clients write, again and again. What was acknowledged is there afterwards,
// what was deleted does not return, and a change that was not acknowledged is there as a whole or not at all.
// HASHGROVE_KILLS=200 does it 200 times.
func TestKillUnderLoad(t *testing.T) {
	needs.Check(t, "builds the program and runs it many times")
	dir := t.TempDir()
	program, path := filepath.Join(dir, "hashgrove"), filepath.Join(dir, "shop.hgi")
	if out, err := exec.Command("go", "build", "-o", program, "hashgrove/cmd/hashgrove").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	s, err := store.Create(t.Context(), path, store.Options{Bits: 64})
	ok(t, err)
	ok(t, s.Close())
	kills, err := strconv.Atoi(os.Getenv("HASHGROVE_KILLS"))
	if err != nil {
		kills = 15
	}
	const writers, idsOfEach = 4, 20
	var mu sync.Mutex // guards what follows: the version of each item that was acknowledged, 0 if deleted, and that sent
	acknowledged, sent, writes := map[int]int{}, map[int]int{}, 0
	for cycle := range kills {
		p, cmd := run(t, program, path)
		begun := sync.OnceFunc(func() {
			time.AfterFunc(time.Duration(rand.ExpFloat64()*60*float64(time.Millisecond)), func() { _ = cmd.Process.Kill() })
		})
		many(writers, func(w int) {
			for i := 1; ; i++ {
				id, version := i%idsOfEach*writers+w, cycle*1_000_000+i
				method, body := "PUT", fmt.Sprintf(`{"code":"%016x","attributes":{"version":%d}}`, version, version)
				if i%7 == 0 {
					method, body, version = "DELETE", "", 0
				}
				mu.Lock()
				sent[id] = version
				mu.Unlock()
				a, err := p.call(method, fmt.Sprint(shop, "/items/", id), body)
				if err != nil {
					return
				}
				if a.StatusCode != 200 && !(method == "DELETE" && a.StatusCode == 404) {
					t.Errorf("%s: %d, %s", method, a.StatusCode, a.body)
					return
				}
				mu.Lock()
				acknowledged[id], writes = version, writes+1
				mu.Unlock()
				begun()
			}
		})
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // says that it was killed
		s, err := store.Open(t.Context(), path, store.OpenOptions{})
		ok(t, err)
		for id := range sent {
			version := 0
			if it, there := s.Snapshot().Get(index.Int(int64(id))); there {
				number, _ := it.Attributes["version"].Number()
				if version = int(number); it.Code[0] != uint64(version) {
					t.Errorf("id %d: the code of version %d beside version %d", id, it.Code[0], version)
				}
			}
			if version != acknowledged[id] && version != sent[id] {
				t.Errorf("id %d: version %d, acknowledged was %d, and sent %d", id, version, acknowledged[id], sent[id])
			}
			acknowledged[id] = version
		}
		ok(t, s.Close())
	}
	t.Logf("count: kills %d", kills)
	t.Logf("count: writes acknowledged %d", writes)
	if _, err := store.Verify(t.Context(), path, nil); err != nil || writes == 0 {
		t.Error(writes, err)
	}
}
