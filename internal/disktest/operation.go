// Package disktest is a disk that fails and forgets, for tests of programs that write files.
//
// Follow runs a program and records every operation on files below one folder, as strace does; it can let one of them
// fail. A Twin is a file system in memory that is strict: what was not synced, data and names alike, may be lost. It
// replays the record and tells what a power cut after any operation may leave.
//
// The index maps its file and writes through a library that wants a real one, so that no file system in Go can stand
// below it. Watching the real program has a second advantage: nothing can be forgotten between the code and the disk.
package disktest

import (
	"fmt"
	"slices"
	"syscall"
)

// Kind is what an operation does.
type Kind string

// The kinds of operations. Said is no operation on a file but something that was written to standard output or to
// standard error, so that a test knows what had been promised at that moment.
const (
	Open     Kind = "open"
	Create   Kind = "create" // an open that made the file
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

// Op is an operation that a program made.
type Op struct {
	Kind   Kind
	Number int    // of the operation, from 0 and in the order in which they began; -1 for Said
	Path   string // below the folder, "." for the folder itself
	To     string // of Rename and Link
	Inode  uint64 // of the file, where it was open or was made
	At     int64  // offset of Write, length of Truncate, descriptor of Said
	Data   []byte // of Write and Said
	Began  int    // how many operations of the record were done when it began
	Err    syscall.Errno
}

// Changes tells whether another state may be on disk after the operation than before it, or more was promised.
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

// The faults. Full is NoSpace for all later operations, too, that need room on the disk; Gone is BadDisk for all later
// ones.
const (
	NoSpace   Fault = "ENOSPC"
	BadDisk   Fault = "EIO"
	Interrupt Fault = "EINTR"
	Short     Fault = "short"
	Full      Fault = "full"
	Gone      Fault = "gone"
)

// Faults are those that can befall an operation.
func (o Op) Faults() []Fault {
	switch o.Kind {
	case Write:
		if len(o.Data) > 1 {
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

// hits tells whether an operation fails under a plan, and how.
func (p *Plan) hits(o *Op) (Fault, bool) {
	if p == nil || o.Kind == Said || o.Number < p.At {
		return "", false
	}
	can := o.Faults()
	switch {
	case p.Fault == Full && slices.Contains(can, Full):
		return NoSpace, true
	case p.Fault == Gone && slices.Contains(can, BadDisk):
		return BadDisk, true
	case o.Number == p.At && slices.Contains(can, p.Fault):
		return p.Fault, true
	}
	return p.Then.hits(o)
}

// Plan lets an operation fail, and perhaps a later one.
type Plan struct {
	At    int // its number
	Fault Fault
	Then  *Plan // nil means none
}

// Run is what a program did.
type Run struct {
	Ops      []Op
	Status   int    // of its end; 128 and the signal where one ended it
	Output   string // standard output and standard error
	Injected []Op   // the operations that failed as planned
}
