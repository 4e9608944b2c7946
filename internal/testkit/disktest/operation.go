// Package disktest simulates failing disks and power cuts, for tests of programs that write files.
//
// Follow runs a program and records every operation on files below one folder, like strace; it can make operations
// fail. A Disk is a strict file system in memory: anything unsynced, data and names alike, may be lost. It replays the
// record and lists what a power cut after any operation could leave behind.
//
// The index maps its file and uses a library that needs a real one, so a file system written in Go could not replace
// it. Tracing the real program also means that nothing between the code and the disk is missed.
package disktest

import (
	"fmt"
	"regexp"
	"slices"
	"syscall"
)

// Kind is the kind of an operation.
type Kind string

// The kinds of operations. Said is not a file operation but output to standard output or standard error, so that a test
// knows what had been promised by then.
const (
	Open     Kind = "open"
	Create   Kind = "create" // an open that created the file
	Write    Kind = "write"
	Truncate Kind = "truncate"
	Sync     Kind = "sync"
	Rename   Kind = "rename"
	Link     Kind = "link"
	Unlink   Kind = "unlink"
	Mkdir    Kind = "mkdir"
	Rmdir    Kind = "rmdir"
	Read     Kind = "read"
	List     Kind = "list"
	Stat     Kind = "stat"
	Chmod    Kind = "chmod"
	Flock    Kind = "lock"
	Close    Kind = "close"
	Said     Kind = "said"
)

// Op is an operation made by a program.
type Op struct {
	Kind   Kind
	Number int    // of the operation, from 0 in the order they began; -1 for Said
	Path   string // below the folder, "." for the folder itself
	Nth    int    // among those of this kind on this path, from 1, in the order they ended
	To     string // for Rename and Link
	Inode  uint64 // of the file, if it was open or created
	At     int64  // offset of Write, length of Truncate, descriptor of Said
	Data   []byte // for Write and Said
	Began  int    // number of recorded operations completed when it began
	Parts  bool   // for Write: a short write is possible
	Err    syscall.Errno
}

// Changes reports whether the disk may have another state after the operation, or whether more was promised.
func (o Op) Changes() bool {
	switch o.Kind {
	case Open, Read, List, Stat, Chmod, Flock, Close:
		return false
	}
	return true
}

// String describes an operation in a message.
func (o Op) String() string {
	if o.Kind == Said {
		return fmt.Sprintf("it said %.60q", o.Data)
	}
	s := fmt.Sprintf("%d: %s %s", o.Number, o.Kind, o.Path)
	switch o.Kind {
	case Rename, Link:
		s += " to " + o.To
	case Write:
		s += fmt.Sprintf(" (%d bytes at %d)", len(o.Data), o.At)
	case Truncate:
		s += fmt.Sprintf(" (to %d bytes)", o.At)
	}
	if o.Err != 0 {
		s += ": " + o.Err.Error()
	}
	return s
}

// Fault is a way in which an operation can fail.
type Fault string

// The faults. Full is NoSpace for this and all later operations that need disk space; Gone is BadDisk for this and all
// later ones.
const (
	NoSpace   Fault = "ENOSPC"
	BadDisk   Fault = "EIO"
	Interrupt Fault = "EINTR"
	Short     Fault = "short"
	Full      Fault = "full"
	Gone      Fault = "gone"
)

// Faults returns the faults that can happen to an operation.
func (o Op) Faults() []Fault {
	switch o.Kind {
	case Write:
		if o.Parts && len(o.Data) > 1 {
			return []Fault{NoSpace, BadDisk, Interrupt, Short, Full, Gone}
		}
		return []Fault{NoSpace, BadDisk, Interrupt, Full, Gone}
	case Create, Truncate, Mkdir, Link, Rename:
		return []Fault{NoSpace, BadDisk, Interrupt, Full, Gone}
	case Sync:
		return []Fault{NoSpace, BadDisk, Interrupt, Gone}
	case Open, Read, Flock:
		return []Fault{BadDisk, Interrupt}
	case Said:
		return nil
	}
	return []Fault{BadDisk}
}

// Plan makes an operation fail, and perhaps a later one. It identifies the operation by its kind and file, not by its
// number: threads and signals add operations on other files, and repeat some, so numbers vary.
type Plan struct {
	Kind  Kind   // "" means any
	Path  string // as returned by Stable; "" means any
	Nth   int    // which of those, from 1; for Then counted from the first fault
	Fault Fault
	Then  *Plan // nil means none
}

// PlanFor returns a plan that makes a recorded operation fail when the program runs again.
func PlanFor(o Op, f Fault) Plan {
	return Plan{Kind: o.Kind, Path: Stable(o.Path), Nth: o.Nth, Fault: f}
}

var random = regexp.MustCompile(`[0-9a-f]{8,}\.tmp$|[0-9]{4,}\.`)

// Stable returns a path without the random part of temporary names.
func Stable(path string) string { return random.ReplaceAllString(path, "#.") }

// planned is the state of a plan.
type planned struct {
	plan    *Plan // the next fault; nil means none
	seen    int   // matching operations so far
	lasting Fault // happens to all operations from now on
}

// means reports whether the next fault counts an operation.
func (p *planned) means(o *Op) bool {
	return p.plan != nil && (p.plan.Kind == "" || p.plan.Kind == o.Kind) &&
		(p.plan.Path == "" || p.plan.Path == Stable(o.Path))
}

// strike reports whether an operation fails, and how.
func (p *planned) strike(o *Op) (Fault, bool) {
	can, f := o.Faults(), p.lasting
	if p.means(o) {
		if p.seen++; p.seen >= p.plan.Nth && slices.Contains(can, p.plan.Fault) {
			if f = p.plan.Fault; f == Full || f == Gone {
				p.lasting = f
			}
			p.plan, p.seen = p.plan.Then, 0
		}
	}
	switch {
	case f == Full && slices.Contains(can, Full):
		return NoSpace, true
	case f == Gone && slices.Contains(can, BadDisk):
		return BadDisk, true
	}
	return f, f != "" && f != Full && f != Gone
}

// forget uncounts an operation that did not fail and will be repeated.
func (p *planned) forget(o *Op) {
	if p.means(o) && p.seen > 0 {
		p.seen--
	}
}

// Run records what a program did.
type Run struct {
	Ops      []Op
	Status   int    // exit status; 128 plus the signal if one ended it
	Output   string // standard output and standard error
	Injected []Op   // the operations that failed as planned
}
