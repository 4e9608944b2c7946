//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// peak runs a command to its end, or until it says that it serves and use has used it, and returns the most memory that was
// resident, in MB. What the system says about a child that has ended would include the memory of the test itself.
func peak(t *testing.T, use func(url string), args ...string) (megabytes int, out string) {
	t.Helper()
	cmd := command(args...)
	var said, errOut lockedBuffer
	cmd.Stdout, cmd.Stderr = &said, &errOut
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // has ended, most often
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for tick := time.Tick(2 * time.Millisecond); ; {
		select {
		case err := <-ended:
			if err != nil || megabytes == 0 {
				t.Fatalf("%v: %v, %d MB\n%s", args, err, megabytes, errOut.String())
			}
			return megabytes, said.String()
		case <-tick:
			megabytes = max(megabytes, resident(cmd.Process.Pid))
			if at := regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(said.String()); use != nil && at != "" {
				use(at)
				use = nil
				megabytes = max(megabytes, resident(cmd.Process.Pid))
				if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// resident returns the peak memory of a process in MB; 0 if it has ended.
func resident(pid int) (megabytes int) {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, text, _ := strings.Cut(string(status), "\nVmHWM:")
	_, _ = fmt.Sscan(text, &megabytes)
	return megabytes * 1024 / 1_000_000
}

// lockedBuffer is a buffer that is read while it is written.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// base is what the program takes before it does anything, in MB, with room for the garbage collector.
const base = 60

// TestMemoryCeiling runs the verbs as processes on data of some hundred megabytes and holds the most memory that each has
// had to what docs/promises.md and docs/scale.md say.
func TestMemoryCeiling(t *testing.T) {
	if os.Getenv("HASHGROVE_LONG") != "1" {
		t.Skip("takes a minute: set HASHGROVE_LONG=1")
	}
	t.Chdir(t.TempDir())
	ceiling := func(what string, have, most int) {
		t.Helper()
		if have > most {
			t.Errorf("%s took %d MB of memory, and may take %d", what, have, most)
			return
		}
		t.Logf("%s: %d MB, may have %d", what, have, most)
		t.Logf("count: memory ceilings held 1")
	}

	// Training: what --memory says, and those pages of mapped files that nobody else needs; or what it says it will take.
	byteRows(t, 1_000_000, 64)
	for _, size := range []string{"300MB", "2GB"} {
		var r trainReport
		have, out := peak(t, nil, append(manyRowsArgs, "--memory", size, "--json", "--force", "-o", "trained.hgm")...)
		if err := json.Unmarshal([]byte(out), &r); err != nil || r.Memory == nil {
			t.Fatalf("%v: %s", err, out)
		}
		if r.Memory.Mapped != (size == "300MB") {
			t.Errorf("with --memory %s: %+v", size, r.Memory)
		}
		most := r.Memory.Estimate
		if r.Memory.Mapped {
			most = r.Memory.Budget + r.Memory.Files
		}
		ceiling("train of 1,000,000 rows with --memory "+size, have, int(most/1e6))
	}

	// Encoding: for every thread twice 64 MiB, and a chunk of 64 MiB a few times over, however many rows.
	const columns, threads = 64, 2
	const reading = base + (2*threads+3)*67
	wideRows(t, "few.npy", 100_000, columns)
	wideRows(t, "many.npy", 800_000, columns) // 205 MB
	succeed(t, shellWords("train few.npy --method lsh --bits 64 --quiet -o wide.hgm")...)
	flags := []string{"-m", "wide.hgm", "--threads", fmt.Sprint(threads), "--quiet", "--force", "-o", "codes.hgc"}
	few, _ := peak(t, nil, append([]string{"encode", "few.npy"}, flags...)...)
	many, _ := peak(t, nil, append([]string{"encode", "many.npy"}, flags...)...)
	ceiling("encode of 800,000 rows", many, min(reading, few+150))
	// Indexes: building took 118 bytes for each of 100 million codes, and opening takes no more than that. A search from the
	// command line holds 53 at most.
	const items = 2_000_000
	plainCodes(t, "items.hgc", items)
	have, _ := peak(t, nil, "index", "build", "-o", "items.hgi", "items.hgc", "--quiet")
	ceiling("index build of 2 million codes", have, base+items*118/1_000_000)
	have, _ = peak(t, nil, "search", "items.hgi", "--code", "0123456789abcdef", "-k", "10", "--json")
	ceiling("search of 2 million codes", have, base+items*53/1_000_000)
	have, _ = peak(t, func(url string) { ask(t, url+"/v1/collections/items/search?code=0123456789abcdef&k=10") },
		"serve", "items.hgi", "--listen", "127.0.0.1:0", "--log", "errors")
	ceiling("serve of 2 million codes", have, base+items*118/1_000_000)
}

// ask sends a request some times, as clients of a service do.
func ask(t *testing.T, url string) {
	t.Helper()
	for range 200 {
		a, err := http.Get(url)
		if err == nil {
			_, err = io.Copy(io.Discard, a.Body)
			a.Body.Close()
		}
		if err != nil || a.StatusCode != http.StatusOK {
			t.Fatalf("%s: %+v, %v", url, a, err)
		}
	}
}
