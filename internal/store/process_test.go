package store

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"hashgrove/internal/index"
)

// These tests need other processes: the test binary runs itself again as one of these children.
var children = map[string]func(path string, arg int) error{"write": writeForEver, "hold": hold}

const childVariable = "HASHGROVE_STORE_CHILD"

func TestMain(m *testing.M) {
	if child := os.Getenv(childVariable); child != "" {
		var name, path string
		var arg int
		if _, err := fmt.Sscanf(child, "%s %d %q", &name, &arg, &path); err != nil {
			panic(err)
		}
		if err := children[name](path, arg); err != nil {
			fmt.Println("child failed:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	flag.Parse()
	os.Exit(m.Run())
}

// child is the command that runs a child.
func child(t *testing.T, name string, arg int, path string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	ok(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d %q", childVariable, name, arg, path))
	cmd.Stderr = os.Stderr
	return cmd
}

// patience bounds how long a test waits for anything, so that waiting in vain comes to an end.
const patience = 2 * time.Minute

var cycles = flag.Int("cycles", 0, "how often TestKill kills a writer; 0 means a few times")

// A writer of TestKill puts and deletes items with its own ids. The contents of an item depend on its id and version, a
// number that never repeats.
const (
	writers   = 2
	idsOfEach = 400
)

func versioned(id index.ID, version int) index.Item {
	n, _ := id.Integer()
	rng := rand.New(rand.NewPCG(uint64(n), uint64(version)))
	return index.Item{
		ID: id, Code: []uint64{rng.Uint64(), rng.Uint64()}, Label: fmt.Sprint("version ", version),
		Attributes: map[string]index.Value{"version": index.Number(float64(version)), "of": index.String(id.String())},
	}
}

// writeForEver is the child of TestKill. It announces what it will do and when it is done, in lines of
//
//	try writer version delete id ...      or      try writer version put id ...      and      ack writer
func writeForEver(path string, cycle int) error {
	s, err := Open(ctx, path, OpenOptions{Wait: patience, Index: index.Config{Tables: -1}})
	if err != nil {
		return err
	}
	var say sync.Mutex
	line := func(format string, args ...any) {
		say.Lock()
		defer say.Unlock()
		fmt.Fprintf(os.Stdout, format+"\n", args...) // one system call
	}
	failed := make(chan error)
	for w := range writers {
		go func() {
			rng := rand.New(rand.NewPCG(uint64(cycle), uint64(w)))
			for step := 0; ; step++ {
				version := cycle*1_000_000 + step
				ids := make([]index.ID, 1+rng.IntN(2)*rng.IntN(60))
				names := make([]string, len(ids))
				for i := range ids {
					ids[i] = index.Int(int64(rng.IntN(idsOfEach)*writers + w))
					names[i] = ids[i].String()
				}
				var err error
				switch rng.IntN(10) {
				case 0, 1, 2:
					line("try %d %d delete %s", w, version, strings.Join(names, " "))
					_, err = s.Delete(ctx, ids...)
				default:
					b := index.NewBatch(128)
					for _, id := range ids {
						b.Append(versioned(id, version))
					}
					line("try %d %d put %s", w, version, strings.Join(names, " "))
					err = s.Upsert(ctx, b)
				}
				if err != nil {
					failed <- err
				}
				line("ack %d", w)
				switch rng.IntN(40) {
				case 0:
					err = s.Compact(ctx)
				case 1:
					err = s.Backup(ctx, io.Discard)
				case 2, 3, 4:
					_, err = s.Snapshot().Search(ctx, []uint64{1, 2}, 5, index.Options{})
				}
				if err != nil {
					failed <- err
				}
			}
		}()
	}
	return <-failed
}

// try is a write that was begun.
type try struct {
	version int
	put     bool
	ids     []index.ID
}

// writerLog is what the parent knows about a writer: the acknowledged version of each item, and an unacknowledged
// write.
type writerLog struct {
	version map[index.ID]int
	pending *try
}

func (l *writerLog) settle() {
	for _, id := range l.pending.ids {
		if l.pending.put {
			l.version[id] = l.pending.version
		} else {
			delete(l.version, id)
		}
	}
	l.pending = nil
}

// holds returns an error if the items of a writer differ from its log.
func (l *writerLog) holds(x *index.Snapshot, w int) error {
	for i := range idsOfEach {
		id := index.Int(int64(i*writers + w))
		have, there := x.Get(id)
		version, want := l.version[id]
		if there != want {
			return fmt.Errorf("id %v: there: %t, should be: %t", id, there, want)
		}
		if there && !reflect.DeepEqual(have, versioned(id, version)) {
			return fmt.Errorf("id %v: have %+v, want version %d", id, have, version)
		}
	}
	return nil
}

// audit compares the items with the logs of all writers, and counts the unacknowledged writes and those of them that
// took effect.
func audit(logs []writerLog, x *index.Snapshot) (unfinished, kept int, err error) {
	total := 0
	for w := range logs {
		l := &logs[w]
		err := l.holds(x, w)
		if l.pending != nil {
			unfinished++
			if err == nil {
				l.pending = nil
			} else {
				l.settle()
				kept++
				err = l.holds(x, w)
			}
		}
		if err != nil {
			return 0, 0, fmt.Errorf("writer %d: %w", w, err)
		}
		total += len(l.version)
	}
	if x.Len() != total {
		return 0, 0, fmt.Errorf("%d items, want %d", x.Len(), total)
	}
	return unfinished, kept, nil
}

// killSoon kills a process shortly after its first write, which may take long on a busy machine, and in one of four
// cycles after a time in which it may still be opening the index.
func killSoon(cmd *exec.Cmd, first <-chan bool, cycle int, while time.Duration) {
	late := patience
	if cycle%4 == 0 {
		late = time.Duration(100+cycle%20*100) * time.Millisecond
	}
	select {
	case <-first:
		time.Sleep(while)
	case <-time.After(late):
	}
	_ = cmd.Process.Kill()
}

// TestKill repeatedly kills a writing process at any time. Afterwards every acknowledged write is there, an
// unacknowledged one is there as a whole or not at all, and nothing else is. With -cycles=1000 it takes a few minutes.
func TestKill(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("children do not die of signals")
	}
	n := *cycles
	if n == 0 {
		n = 25
		if testing.Short() {
			n = 4
		}
	}
	s, path := create(t, Options{Bits: 128})
	ok(t, s.Close())
	rng := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
	logs := make([]writerLog, writers)
	for w := range logs {
		logs[w].version = map[index.ID]int{}
	}
	acknowledged, unfinished, kept := 0, 0, 0
	for cycle := 1; cycle <= n; cycle++ {
		cmd := child(t, "write", cycle, path)
		out, err := cmd.StdoutPipe()
		ok(t, err)
		ok(t, cmd.Start())
		first := make(chan bool, 1)
		go killSoon(cmd, first, cycle, time.Duration(rng.ExpFloat64()*50*float64(time.Millisecond)))
		for in := bufio.NewScanner(out); in.Scan(); {
			f := strings.Fields(in.Text())
			var w int
			if len(f) < 2 || f[0] != "try" && f[0] != "ack" {
				t.Fatalf("cycle %d: the child says %q", cycle, in.Text())
			}
			if f[0] == "ack" || cycle%2 == 0 {
				select {
				case first <- true:
				default:
				}
			}
			fmt.Sscan(f[1], &w)
			if f[0] == "ack" {
				logs[w].settle()
				acknowledged++
				continue
			}
			x := &try{put: f[3] == "put"}
			fmt.Sscan(f[2], &x.version)
			for _, name := range f[4:] {
				x.ids = append(x.ids, index.Text(name))
			}
			logs[w].pending = x
		}
		if err := cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
			t.Fatalf("cycle %d: the child ended by itself: %v", cycle, err)
		}
		s := open(t, path, OpenOptions{ReadOnly: cycle%2 == 0, Index: index.Config{Tables: -1}})
		were, are, err := audit(logs, s.Snapshot())
		if err != nil {
			t.Fatalf("cycle %d: %v", cycle, err)
		}
		unfinished, kept = unfinished+were, kept+are
		ok(t, s.Close())
		if cycle%100 == 0 {
			t.Logf("%d cycles, %d writes acknowledged", cycle, acknowledged)
		}
	}
	if _, err := Verify(ctx, path, nil); err != nil {
		t.Error(err)
	}
	if acknowledged == 0 {
		t.Error("no write was ever acknowledged")
	}
	t.Logf("%d cycles: %d writes acknowledged and none lost; of %d that were not, %d are there", n, acknowledged, unfinished, kept)
	t.Logf("count: kills %d", n)
	t.Logf("count: writes acknowledged %d", acknowledged)
	ok(t, open(t, path, OpenOptions{}).Close())
	if left, _ := filepath.Glob(path + "?*"); left != nil {
		t.Errorf("unfinished files of compaction are left: %v", left)
	}
}

// hold is the child of TestTwoProcesses: it keeps the index open until its input ends.
func hold(path string, readOnly int) error {
	s, err := Open(ctx, path, OpenOptions{ReadOnly: readOnly == 1})
	if err != nil {
		return err
	}
	fmt.Println("open")
	if _, err := io.ReadAll(os.Stdin); err != nil {
		return err
	}
	if readOnly == 0 { // replace the file that the parent waits for
		b := index.NewBatch(8)
		b.Append(index.Item{ID: index.Text("from the child"), Code: []uint64{0}})
		if err := errors.Join(s.Upsert(ctx, b), s.Compact(ctx)); err != nil {
			return err
		}
	}
	return s.Close()
}

func TestTwoProcesses(t *testing.T) {
	for _, c := range []struct {
		name           string
		there          int // the other process reads
		reads, readers bool
	}{{"writer", 0, false, false}, {"reader", 1, true, true}} {
		t.Run(c.name, func(t *testing.T) {
			s, path := create(t, Options{Bits: 8})
			if _, err := Open(ctx, path, OpenOptions{Wait: -1}); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), path) {
				t.Errorf("a second writer in this process: %v", err)
			}
			ok(t, s.Close())
			cmd := child(t, "hold", c.there, path)
			in, err := cmd.StdinPipe()
			ok(t, err)
			out, err := cmd.StdoutPipe()
			ok(t, err)
			ok(t, cmd.Start())
			line, err := bufio.NewReader(out).ReadString('\n')
			if err != nil || line != "open\n" {
				t.Fatalf("%q, %v", line, err)
			}
			hangs, cancel := context.WithTimeout(ctx, patience)
			defer cancel()
			if _, err := Open(hangs, path, OpenOptions{Wait: 50 * time.Millisecond}); !errors.Is(err, ErrLocked) {
				t.Errorf("a second writer: %v", err)
			}
			r, err := Open(ctx, path, OpenOptions{ReadOnly: true, Wait: -1})
			if (err == nil) != c.reads || err != nil && !errors.Is(err, ErrLocked) {
				t.Errorf("a reader beside it: %v", err)
			}
			if r != nil {
				ok(t, r.Close())
			}
			// A waiting process gets the final file, with the latest writes.
			waited := make(chan error, 1)
			go func() {
				s, err := Open(ctx, path, OpenOptions{Wait: patience})
				if err == nil {
					b := index.NewBatch(8)
					b.Append(index.Item{ID: index.Text("from the parent"), Code: []uint64{0}})
					err = errors.Join(s.Add(ctx, b), s.Close())
				}
				waited <- err
			}()
			time.Sleep(100 * time.Millisecond) // usually it is waiting by then; the test holds anyway
			ok(t, in.Close())
			ok(t, cmd.Wait())
			ok(t, <-waited)
			x := open(t, path, OpenOptions{}).Snapshot()
			_, parent := x.Get(index.Text("from the parent"))
			_, kid := x.Get(index.Text("from the child"))
			if !parent || kid != (c.there == 0) {
				t.Errorf("items: of the parent %t, of the child %t", parent, kid)
			}
		})
	}
}

// TestWaitBeginsAfterReading: the time to read the file does not count as waiting for its lock. The lock is released a
// tenth of the wait after the file was read, which a busy machine may miss, so there are several tries.
func TestWaitBeginsAfterReading(t *testing.T) {
	s, path := create(t, Options{Bits: 8})
	b := index.NewBatch(8)
	b.Append(index.Item{ID: index.Int(1), Code: []uint64{0}})
	ok(t, s.Add(ctx, b))
	ok(t, s.Close())
	const wait = time.Second
	var w *Store
	err := ErrLocked
	for try := 0; try < 5 && errors.Is(err, ErrLocked); try++ {
		reader := open(t, path, OpenOptions{ReadOnly: true})
		slow := sync.OnceFunc(func() {
			time.Sleep(wait + wait/5)
			time.AfterFunc(wait/10, func() { _ = reader.Close() })
		})
		w, err = Open(ctx, path, OpenOptions{Wait: wait, Progress: func(int, int) { slow() }})
	}
	ok(t, err)
	ok(t, w.Close())
}
