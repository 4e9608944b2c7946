//go:build linux && amd64

package disktest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
)

// ErrNotPermitted is returned on systems where processes cannot be traced.
var ErrNotPermitted = errors.New("processes cannot be followed here")

// follower traces a process and all its threads with ptrace(2): every thread stops when a system call begins and ends.
type follower struct {
	pid    int
	folder string
	memory *os.File
	plan   planned
	count  int            // number of operations that began
	nth    map[string]int // number of operations that ended, by kind and path
	inside map[int]*step  // calls in progress by thread
	run    Run
	err    error // an operation that is not modelled
}

// step is a system call in progress.
type step struct {
	op     *Op // nil if irrelevant
	finish func(result int64) error
	fault  Fault
}

// Follow runs a command to its end and records its operations below the folder. It returns an error for an operation
// that the model does not know.
func Follow(cmd *exec.Cmd, folder string, plan *Plan) (*Run, error) {
	folder, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return nil, err
	}
	output, err := os.CreateTemp("", "output")
	if err != nil {
		return nil, err
	}
	defer output.Close()
	defer os.Remove(output.Name())
	cmd.Stdout, cmd.Stderr = output, output
	runtime.LockOSThread() // only the thread that started tracing may continue
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("%w: %v", ErrNotPermitted, err)
	}
	defer func() { _ = cmd.Process.Release() }()
	f := &follower{pid: cmd.Process.Pid, folder: folder, plan: planned{plan: plan}, nth: map[string]int{},
		inside: map[int]*step{}}
	if err := f.load(); err != nil {
		_ = cmd.Process.Kill()
		return nil, err
	}
	defer f.memory.Close()
	if err := f.follow(); err != nil {
		_ = cmd.Process.Kill()
		return nil, err
	}
	text, err := io.ReadAll(io.NewSectionReader(output, 0, 1<<20))
	f.run.Output = string(text)
	return &f.run, err
}

// load waits until the program is loaded.
func (f *follower) load() (err error) {
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(f.pid, &status, 0, nil); err != nil || !status.Stopped() {
		return fmt.Errorf("%w: %v", ErrNotPermitted, err)
	}
	const kill, sysgood = 0x100000, 1 // PTRACE_O_EXITKILL, PTRACE_O_TRACESYSGOOD
	options := syscall.PTRACE_O_TRACECLONE | syscall.PTRACE_O_TRACEFORK | syscall.PTRACE_O_TRACEVFORK | sysgood | kill
	if err := syscall.PtraceSetOptions(f.pid, options); err != nil {
		return fmt.Errorf("%w: %v", ErrNotPermitted, err)
	}
	if f.memory, err = os.Open(fmt.Sprintf("/proc/%d/mem", f.pid)); err != nil {
		return fmt.Errorf("%w: %v", ErrNotPermitted, err)
	}
	return syscall.PtraceSyscall(f.pid, 0)
}

// follow runs the threads from stop to stop until the process has ended.
func (f *follower) follow() error {
	const noThread = 0x20000000 // __WNOTHREAD: ignore children of other threads
	for {
		var status syscall.WaitStatus
		tid, err := syscall.Wait4(-1, &status, syscall.WALL|noThread, nil)
		switch {
		case err == syscall.EINTR:
			continue
		case err != nil:
			return err
		case status.Exited() || status.Signaled():
			if tid != f.pid {
				continue
			}
			if f.run.Status = status.ExitStatus(); status.Signaled() {
				f.run.Status = 128 + int(status.Signal())
			}
			return f.err
		}
		signal := 0
		switch s := status.StopSignal(); {
		case s == syscall.SIGTRAP|0x80:
			if err := f.stop(tid); err != nil {
				return err
			}
		case s == syscall.SIGTRAP:
			if c := status.TrapCause(); c == syscall.PTRACE_EVENT_FORK || c == syscall.PTRACE_EVENT_VFORK {
				return errors.New("the program starts another, which is not modelled")
			}
		case s == syscall.SIGSTOP: // a new thread
		default:
			signal = int(s)
		}
		_ = syscall.PtraceSyscall(tid, signal) // it may have been killed meanwhile
	}
}

// stop handles the beginning or the end of a system call.
func (f *follower) stop(tid int) error {
	var r syscall.PtraceRegs
	if syscall.PtraceGetRegs(tid, &r) != nil {
		return nil // it has just ended
	}
	if s := f.inside[tid]; s != nil {
		delete(f.inside, tid)
		return f.leave(tid, s, &r)
	}
	s, err := f.call(&r)
	if err != nil {
		return err
	}
	f.inside[tid] = s
	if s.op == nil {
		return nil
	}
	s.op.Began = len(f.run.Ops)
	if s.op.Kind == Said {
		s.op.Number = -1
		f.run.Ops = append(f.run.Ops, *s.op) // record it before it takes effect
		s.op = nil
		return nil
	}
	s.op.Number = f.count
	f.count++
	fault, hit := f.plan.strike(s.op)
	if !hit {
		return nil
	}
	s.fault = fault
	switch {
	case fault == Short:
		r.Rdx /= 2
	case s.op.Kind == Close: // it closes all the same
		return nil
	default:
		r.Orig_rax = ^uint64(0) // skip the call
	}
	return syscall.PtraceSetRegs(tid, &r)
}

// leave records an operation that has ended.
func (f *follower) leave(tid int, s *step, r *syscall.PtraceRegs) error {
	o := s.op
	if o == nil {
		return nil
	}
	if s.fault != "" && s.fault != Short {
		o.Err = map[Fault]syscall.Errno{NoSpace: syscall.ENOSPC, BadDisk: syscall.EIO, Interrupt: syscall.EINTR}[s.fault]
		r.Rax = uint64(-int64(o.Err))
		if err := syscall.PtraceSetRegs(tid, r); err != nil {
			return err
		}
	}
	result := int64(r.Rax)
	if s.fault != "" {
		f.run.Injected = append(f.run.Injected, *o)
	}
	if result <= -512 && result > -4096 { // interrupted by a signal, the call will be repeated
		f.plan.forget(o)
		return nil
	}
	key := string(o.Kind) + " " + Stable(o.Path)
	f.nth[key]++
	o.Nth = f.nth[key]
	if result < 0 {
		o.Err = syscall.Errno(-result)
	} else if s.finish != nil {
		if err := s.finish(result); err != nil {
			return fmt.Errorf("%v: %w", *o, err)
		}
	}
	f.run.Ops = append(f.run.Ops, *o)
	return nil
}
