package store

import (
	"bufio"
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
	"strconv"
	"strings"
	"testing"
	"time"

	"hashgrove/internal/index"
	"hashgrove/internal/testkit/needs"
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

// A writer of TestKill has its own ids. What it does in a write, and the contents of an item, follow from its version, a
// number that never repeats.
const (
	writers   = 2
	idsOfEach = 400
	perCycle  = 1_000_000 // versions
)

func killStep(w, version int) (ids []index.ID, put bool) {
	rng := rand.New(rand.NewPCG(uint64(version), uint64(w)))
	ids = make([]index.ID, 1+rng.IntN(2)*rng.IntN(60))
	for i := range ids {
		ids[i] = index.Int(int64(rng.IntN(idsOfEach)*writers + w))
	}
	return ids, rng.IntN(10) > 2
}

func versioned(id index.ID, version int) index.Item {
	n, _ := id.Integer()
	rng := rand.New(rand.NewPCG(uint64(n), uint64(version)))
	return index.Item{
		ID: id, Code: []uint64{rng.Uint64(), rng.Uint64()}, Label: fmt.Sprint("version ", version),
		Attributes: map[string]index.Value{"version": index.Number(float64(version)), "of": index.String(id.String())},
	}
}

// writeForEver is the child of TestKill. It prints the number of a writer after each of its writes.
func writeForEver(path string, cycle int) error {
	s, err := Open(ctx, path, OpenOptions{Wait: patience, Index: index.Config{Tables: -1}})
	if err != nil {
		return err
	}
	failed := make(chan error)
	for w := range writers {
		go func() {
			for version := cycle * perCycle; ; version++ {
				ids, put := killStep(w, version)
				var err error
				if put {
					b := index.NewBatch(128)
					for _, id := range ids {
						b.Append(versioned(id, version))
					}
					err = s.Upsert(ctx, b)
				} else {
					_, err = s.Delete(ctx, ids...)
				}
				if err == nil {
					_, err = fmt.Println(w) // one system call
				}
				switch {
				case err != nil:
				case version%40 == 0:
					err = s.Compact(ctx)
				case version%40 == 20:
					err = s.Backup(ctx, io.Discard)
				}
				if err != nil {
					failed <- err
				}
			}
		}()
	}
	return <-failed
}

// versions are those of the items that a writer should have.
type versions map[index.ID]int

func (l versions) apply(w, version int) {
	ids, put := killStep(w, version)
	for _, id := range ids {
		if l[id] = version; !put {
			delete(l, id)
		}
	}
}

// check returns an error if the items of a writer differ.
func (l versions) check(x *index.Snapshot, w int) error {
	for i := range idsOfEach {
		id := index.Int(int64(i*writers + w))
		have, there := x.Get(id)
		version, want := l[id]
		if there != want || there && !reflect.DeepEqual(have, versioned(id, version)) {
			return fmt.Errorf("id %v: have %t, %+v; want %t, version %d", id, there, have, want, version)
		}
	}
	return nil
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

// TestKill repeatedly kills a writing process at any time. Afterwards every acknowledged write is there, the one after
// it as a whole or not at all, and nothing else is. With -cycles=1000 it takes a few minutes.
func TestKill(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("children do not die of signals")
	}
	n := *cycles
	if n == 0 {
		n = 25
		if !needs.Full() {
			n = 4
		}
	}
	s, path := create(t, Options{Bits: 128})
	ok(t, s.Close())
	rng := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
	var want [writers]versions
	for w := range want {
		want[w] = versions{}
	}
	acknowledged := 0
	for cycle := 1; cycle <= n; cycle++ {
		cmd := child(t, "write", cycle, path)
		out, err := cmd.StdoutPipe()
		ok(t, err)
		ok(t, cmd.Start())
		first := make(chan bool, 1)
		go killSoon(cmd, first, cycle, time.Duration(rng.ExpFloat64()*50*float64(time.Millisecond)))
		var next [writers]int
		for in := bufio.NewScanner(out); in.Scan(); acknowledged++ {
			w, err := strconv.Atoi(in.Text())
			if err != nil {
				t.Fatalf("cycle %d: the child says %q", cycle, in.Text())
			}
			want[w].apply(w, cycle*perCycle+next[w])
			next[w]++
			select {
			case first <- true:
			default:
			}
		}
		if err := cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
			t.Fatalf("cycle %d: the child ended by itself: %v", cycle, err)
		}
		s := open(t, path, OpenOptions{ReadOnly: cycle%2 == 0, Index: index.Config{Tables: -1}})
		total := 0
		for w, l := range want {
			if l.check(s.Snapshot(), w) != nil {
				l.apply(w, cycle*perCycle+next[w])
				if err := l.check(s.Snapshot(), w); err != nil {
					t.Fatalf("cycle %d, writer %d: %v", cycle, w, err)
				}
			}
			total += len(l)
		}
		if have := s.Snapshot().Len(); have != total {
			t.Fatalf("cycle %d: %d items, want %d", cycle, have, total)
		}
		ok(t, s.Close())
	}
	fine(t)(Verify(ctx, path, nil))
	if acknowledged == 0 {
		t.Error("no write was ever acknowledged")
	}
	ok(t, os.WriteFile(path+".0123abcd.tmp", nil, 0o600)) // as a compaction that is killed leaves it
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

// TestTwoProcesses: a writer excludes everybody, readers exclude writers, and who waits gets the final file.
func TestTwoProcesses(t *testing.T) {
	for there, name := range []string{"writer", "reader"} { // the other process
		t.Run(name, func(t *testing.T) {
			s, path := create(t, Options{Bits: 8})
			locked := func(what string, o OpenOptions) {
				t.Helper()
				if _, err := Open(ctx, path, o); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), path) {
					t.Errorf("%s: %v", what, err)
				}
			}
			locked("a second writer in this process", OpenOptions{Wait: -1})
			ok(t, s.Close())
			cmd := child(t, "hold", there, path)
			in, err := cmd.StdinPipe()
			ok(t, err)
			out, err := cmd.StdoutPipe()
			ok(t, err)
			ok(t, cmd.Start())
			if line, err := bufio.NewReader(out).ReadString('\n'); line != "open\n" {
				t.Fatalf("%q, %v", line, err)
			}
			locked("a second writer", OpenOptions{Wait: 50 * time.Millisecond})
			if there == 1 {
				ok(t, open(t, path, OpenOptions{ReadOnly: true, Wait: -1}).Close())
			} else {
				locked("a reader beside a writer", OpenOptions{ReadOnly: true, Wait: -1})
			}
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
			if n := open(t, path, OpenOptions{}).Snapshot().Len(); n != 2-there { // a reader adds nothing
				t.Errorf("%d items", n)
			}
		})
	}
}
