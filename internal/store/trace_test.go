//go:build linux && amd64

package store

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"syscall"
	"testing"

	"hashgrove/internal/index"
	"hashgrove/internal/testkit/needs"
)

// A power cut, simulated from what the program really does.
//
// A child writes to an index while the parent traces its system calls (with ptrace, like strace) and records every
// pwrite, ftruncate, fsync and fdatasync on the file, and every acknowledgement, in order. From this it constructs what
// a disk can hold if the power fails after any one of these calls: everything synced is there; of the rest, any part
// may be there, in any order, writes torn between sectors of 512 bytes, and the length of the file old or new. Each
// such image must open and hold every acknowledged write, and the one in progress as a whole or not at all.
//
// This trusts the kernel and the disk to do what fdatasync promises.

func init() { children["script"] = script }

// call is a system call on the file, or an acknowledgement.
type call struct {
	kind string // write, truncate, sync, ack
	at   int64  // offset, or length of the file
	data []byte
}

// scriptStep applies write n of the script to a store, or to what is expected of it.
func scriptStep(n int, put, update func(*index.Batch), remove func([]index.ID)) {
	rng := rand.New(rand.NewPCG(uint64(n), 77))
	if n%4 == 2 {
		b := &index.Batch{}
		for i := range int64(1 + rng.IntN(60)) {
			b.IDs = append(b.IDs, index.Int(4*i))
			b.Attributes = append(b.Attributes, map[string]index.Value{fmt.Sprint("a", n%3): index.Number(float64(n))})
		}
		update(b)
		return
	}
	if n%4 == 3 {
		var ids []index.ID
		for range 1 + rng.IntN(40) {
			ids = append(ids, index.Int(int64(rng.IntN(300))))
		}
		remove(ids)
		return
	}
	b := index.NewBatch(64)
	for range 1 + rng.IntN(2)*rng.IntN(120) {
		b.Append(index.Item{ID: index.Int(int64(rng.IntN(300))), Code: []uint64{rng.Uint64()}, Label: fmt.Sprint("write ", n)})
	}
	put(b)
}

// script is the child: it makes the given number of writes and acknowledges each on its output.
func script(path string, n int) error {
	s, err := Open(ctx, path, OpenOptions{Index: index.Config{Tables: -1}})
	if err != nil {
		return err
	}
	for i := range n {
		scriptStep(i, func(b *index.Batch) { err = s.Upsert(ctx, b) },
			func(b *index.Batch) { _, err = s.Update(ctx, b, false) },
			func(ids []index.ID) { _, err = s.Delete(ctx, ids...) })
		if err != nil {
			return err
		}
		if _, err := os.Stdout.WriteString("ack"); err != nil {
			return err
		}
	}
	return s.Close()
}

func (w expected) step(n int) expected {
	w = maps.Clone(w)
	scriptStep(n, w.put, func(b *index.Batch) { w.update(b, false) }, func(ids []index.ID) {
		for _, id := range ids {
			delete(w, id)
		}
	})
	return w
}

// follow runs a child to its end and returns its calls on the file.
func follow(t *testing.T, path string, writes int) []call {
	runtime.LockOSThread() // only the thread that began may go on
	defer runtime.UnlockOSThread()
	cmd := child(t, "script", writes, path)
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	if err := cmd.Start(); err != nil {
		needs.Skip(t, needs.Ptrace, "cannot follow a process:", err)
	}
	pid := cmd.Process.Pid
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &status, 0, nil); err != nil || !status.Stopped() {
		needs.Skip(t, needs.Ptrace, "cannot follow a process:", err)
	}
	const kill, sysgood = 0x100000, 1 // PTRACE_O_EXITKILL, PTRACE_O_TRACESYSGOOD
	ok(t, syscall.PtraceSetOptions(pid, syscall.PTRACE_O_TRACECLONE|sysgood|kill))
	ok(t, syscall.PtraceSyscall(pid, 0))
	memory, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	ok(t, err)
	defer memory.Close()

	var calls []call
	inside := map[int]*call{} // by thread
	entered := map[int]bool{}
	for {
		tid, err := syscall.Wait4(-1, &status, syscall.WALL, nil)
		if err == syscall.EINTR {
			continue
		}
		ok(t, err)
		if status.Exited() || status.Signaled() {
			if tid == pid {
				if status.ExitStatus() != 0 {
					t.Fatalf("the child ended with %v", status)
				}
				return calls
			}
			continue
		}
		signal := 0
		switch s := status.StopSignal(); {
		case s == syscall.SIGTRAP|0x80:
			var r syscall.PtraceRegs
			if err := syscall.PtraceGetRegs(tid, &r); err != nil {
				break // it has just ended
			}
			if entered[tid] = !entered[tid]; entered[tid] {
				inside[tid] = callOf(t, pid, path, &r, memory)
			} else if c := inside[tid]; c != nil {
				if int64(r.Rax) < 0 || c.kind == "write" && int(r.Rax) != len(c.data) {
					t.Fatalf("%s returned %d", c.kind, int64(r.Rax))
				}
				if c.kind != "ack" { // counted before it is seen
					calls = append(calls, *c)
				}
			}
			if c := inside[tid]; entered[tid] && c != nil && c.kind == "ack" {
				calls = append(calls, *c)
			}
		case s == syscall.SIGTRAP, s == syscall.SIGSTOP: // a new thread
		default:
			signal = int(s)
		}
		_ = syscall.PtraceSyscall(tid, signal)
	}
}

// callOf reads the arguments of a system call that is about to begin; nil when it does not matter.
func callOf(t *testing.T, pid int, path string, r *syscall.PtraceRegs, memory *os.File) *call {
	var c call
	switch r.Orig_rax {
	case syscall.SYS_PWRITE64:
		c = call{kind: "write", at: int64(r.R10), data: make([]byte, r.Rdx)}
	case syscall.SYS_FTRUNCATE:
		c = call{kind: "truncate", at: int64(r.Rsi)}
	case syscall.SYS_FSYNC, syscall.SYS_FDATASYNC:
		c = call{kind: "sync"}
	case syscall.SYS_WRITE:
		text := make([]byte, 3)
		if r.Rdi == 1 && r.Rdx == 3 {
			if _, err := memory.ReadAt(text, int64(r.Rsi)); err == nil && string(text) == "ack" {
				return &call{kind: "ack"}
			}
		}
		if name, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", pid, r.Rdi)); name == path {
			t.Fatal("the file is written without an offset")
		}
		return nil
	default:
		return nil
	}
	if name, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", pid, r.Rdi)); name != path {
		return nil
	}
	if c.kind == "write" {
		_, err := memory.ReadAt(c.data, int64(r.Rsi))
		ok(t, err)
	}
	return &c
}

const sector = 512

// apply applies a call to an image of the file. Sectors of a write for which keep returns false stay unchanged.
func (c call) apply(image []byte, keep func() bool) []byte {
	switch c.kind {
	case "truncate":
		if !keep() {
			return image
		}
		if int(c.at) <= len(image) {
			return image[:c.at]
		}
		return append(image, make([]byte, int(c.at)-len(image))...)
	case "write":
		for lo := 0; lo < len(c.data); lo += sector {
			hi := min(lo+sector, len(c.data))
			if !keep() {
				continue
			}
			if need := int(c.at) + hi; need > len(image) {
				image = append(image, make([]byte, need-len(image))...)
			}
			copy(image[int(c.at)+lo:], c.data[lo:hi])
		}
	}
	return image
}

func TestPowerCut(t *testing.T) {
	writes, tries := 40, 12
	if !needs.Full() {
		writes, tries = 12, 6
	}
	s, path := create(t, Options{Bits: 64})
	ok(t, s.Close())
	path, err := filepath.EvalSymlinks(path)
	ok(t, err)
	disk, err := os.ReadFile(path)
	ok(t, err)
	calls := follow(t, path, writes)
	states := []expected{{}}
	for i := range writes {
		states = append(states, states[i].step(i))
	}

	rng := rand.New(rand.NewPCG(4, 2))
	var unsynced []call
	acked, images, syncs, newer := 0, 0, 0, 0
	for _, c := range calls {
		switch c.kind {
		case "ack":
			if len(unsynced) > 0 {
				t.Fatal("a write was acknowledged before it was synced")
			}
			acked++
			continue
		case "sync":
			syncs++
			for _, u := range unsynced {
				disk = u.apply(disk, func() bool { return true })
			}
			unsynced = nil
		default:
			unsynced = append(unsynced, c)
		}
		for try := range tries {
			share := []float64{0, 1, 0.5, 0.1, 0.9, 0.5}[try%6]
			order := slices.Clone(unsynced)
			if try > 1 { // the disk may write them in any order; for those that overlap it matters
				rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
			}
			image := slices.Clone(disk)
			for _, u := range order {
				whole := rng.Float64() < share
				image = u.apply(image, func() bool {
					if try%6 > 3 { // torn
						return rng.Float64() < share
					}
					return whole
				})
			}
			images++
			have, err := answerOf(image)
			if err != nil {
				t.Fatalf("after %d writes were acknowledged, with %d calls not synced: %v", acked, len(unsynced), err)
			}
			switch {
			case states[acked].equals(have.Items):
			case acked < writes && states[acked+1].equals(have.Items):
				newer++
			default:
				t.Fatalf("after %d writes were acknowledged the file holds something else", acked)
			}
			if try == 2 && images%5 == 0 { // the whole way
				copied := filepath.Join(t.TempDir(), "x")
				ok(t, os.WriteFile(copied, image, 0o600))
				s := open(t, copied, OpenOptions{Index: index.Config{Tables: -1}})
				if n := s.Snapshot().Len(); n != len(states[acked]) && n != len(states[min(acked+1, writes)]) {
					t.Fatalf("%d items", n)
				}
				b := index.NewBatch(64)
				b.Append(index.Item{ID: index.Text("after the cut"), Code: []uint64{1}})
				ok(t, s.Upsert(ctx, b))
				ok(t, s.Close())
				_, err := Verify(ctx, copied, nil)
				ok(t, err)
			}
		}
	}
	if acked != writes || syncs < 2*writes || newer == 0 {
		t.Errorf("%d of %d writes were acknowledged with %d syncs; %d images had the next write", acked, writes, syncs, newer)
	}
}

// equals compares with the items of a file.
func (w expected) equals(items []index.Item) bool {
	for _, it := range items {
		if !reflect.DeepEqual(w[it.ID], it) {
			return false
		}
	}
	return len(items) == len(w)
}
