package store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"hashgrove/internal/fileio"
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/message"
)

// The file has three buckets, which are trees of keys and values. docs/formats.md draws them.
//
// Version 1 is the first.
const fileVersion = 1

var (
	infoBucket  = []byte("hashgrove index") // headKey, stateKey
	itemBucket  = []byte("items")           // blocks
	modelBucket = []byte("model")           // modelKey: a model file; the bucket exists only with a model

	headKey  = []byte("head")
	stateKey = []byte("state")
	modelKey = []byte("model")
)

// maxNote is the largest length of a note in bytes.
const maxNote = 512

// head is the part of an index that never changes.
type head struct {
	bits        int
	fingerprint hamming.Fingerprint
	created     time.Time // whole seconds
	note        string
}

func (h head) value() []byte {
	v := binary.LittleEndian.AppendUint32(make([]byte, 4), fileVersion)
	v = binary.LittleEndian.AppendUint32(v, uint32(h.bits))
	v = append(v, h.fingerprint[:]...)
	v = binary.LittleEndian.AppendUint64(v, uint64(h.created.Unix()))
	v = append(v, h.note...)
	seal(headKey, v)
	return v
}

func parseHead(value []byte) (head, error) {
	b, _, err := unseal(headKey, value)
	if err != nil {
		return head{}, err
	}
	if len(b) < 4 {
		return head{}, damaged("its head is too short")
	}
	le := binary.LittleEndian
	if v := le.Uint32(b); v > fileVersion {
		return head{}, fmt.Errorf("%w: index format %d, but this program reads up to %d: use a newer hashgrove",
			hamming.ErrVersion, v, fileVersion)
	}
	if len(b) < 48 || len(b) > 48+maxNote || le.Uint32(b) == 0 {
		return head{}, damaged("its head has %d bytes", len(b))
	}
	h := head{
		bits: int(le.Uint32(b[4:])), fingerprint: hamming.Fingerprint(b[8:40]),
		created: time.Unix(int64(le.Uint64(b[40:])), 0).UTC(), note: string(b[48:]),
	}
	if h.bits < 1 || h.bits > hamming.MaxBits {
		return head{}, damaged("codes of %d bits, outside the range 1 to %d", h.bits, hamming.MaxBits)
	}
	return h, nil
}

// state is the part that every write changes. Because it holds the sum of the blocks' checksums, a missing or outdated
// block is detected just like one with a changed byte.
type state struct {
	items, blocks uint64
	sum           uint64
	writes        uint64
}

func (s state) value() []byte {
	v := make([]byte, 4)
	for _, x := range [...]uint64{s.items, s.blocks, s.sum, s.writes} {
		v = binary.LittleEndian.AppendUint64(v, x)
	}
	seal(stateKey, v)
	return v
}

func parseState(value []byte) (state, error) {
	b, _, err := unseal(stateKey, value)
	if err != nil {
		return state{}, err
	}
	if len(b) != 32 {
		return state{}, damaged("its state has %d bytes", len(b))
	}
	le := binary.LittleEndian
	s := state{le.Uint64(b), le.Uint64(b[8:]), le.Uint64(b[16:]), le.Uint64(b[24:])}
	if s.items > index.MaxItems || s.blocks > s.items {
		return state{}, damaged("it claims %d items in %d blocks", s.items, s.blocks)
	}
	return s, nil
}

// file is a bbolt database and its underlying file.
type file struct {
	*bolt.DB
	f    *os.File
	read *contents // what was checked before bbolt opened it; nil if nothing was
}

// errReplaced says that the file at a path was replaced while another program had it.
var errReplaced = errors.New("the file was replaced")

// lock opens a file once no one else has it. check, unless it is nil, reads the file before bbolt does: it may be
// damaged or hostile.
func lock(
	ctx context.Context, path string, readOnly bool, until time.Time, check func(*contents) error,
) (*file, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() { // opening a pipe would block
		err = &fs.PathError{Op: "open", Path: path, Err: message.New("not-regular", "it is not a regular file")}
	}
	if err != nil {
		return nil, err
	}
	for {
		x := &file{}
		o := x.options(readOnly)
		o.OpenFile = func(name string, flag int, mode os.FileMode) (_ *os.File, err error) {
			if x.f, err = os.OpenFile(name, flag&^os.O_CREATE, mode); err != nil {
				return nil, err
			}
			if err = fileio.TryLock(x.f, readOnly); err == nil && !x.isAt(path) {
				err = errReplaced
			}
			if err == nil && check != nil {
				if x.read, err = x.contents(); err == nil {
					err = check(x.read)
				}
			}
			if err != nil {
				_ = x.f.Close()
			}
			return x.f, err
		}
		err := guard(func() (err error) {
			x.DB, err = bolt.Open(path, 0, o)
			return err
		})
		switch {
		case err == nil:
			return x, nil
		case errors.Is(err, errReplaced):
			continue
		case !errors.Is(err, berrors.ErrTimeout) && !errors.Is(err, fileio.ErrLocked):
			if errors.Is(err, fs.ErrPermission) && !readOnly {
				err = message.New("not-writable", "%w: open it for reading only, or change its permissions", err)
			}
			return nil, err
		case time.Now().After(until):
			return nil, fmt.Errorf("%w: another program has it open, or this one: close it there, or wait", ErrLocked)
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func (x *file) options(readOnly bool) *bolt.Options {
	o := &bolt.Options{Timeout: 1, ReadOnly: readOnly, PageSize: pageSize, FreelistType: bolt.FreelistMapType}
	// Spare room in the mapping means that large writes are not copied whenever the mapping grows, and that a backup
	// blocks no writes. Windows would make the file that large.
	if !readOnly && runtime.GOOS != "windows" && ^uint(0)>>32 != 0 {
		o.InitialMmapSize = 1 << 30
	}
	return o
}

// isAt reports whether the path still names the file.
func (x *file) isAt(path string) bool {
	own, err := x.f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(path)
	return err == nil && os.SameFile(own, there)
}

// allocate sets how much the file grows at once: little for a small file, rarely for a large one.
func (x *file) allocate() {
	if info, err := x.f.Stat(); err == nil {
		x.AllocSize = int(min(max(info.Size()/16, 8*pageSize), 16<<20))
	}
}

// txid returns the number of the latest transaction in the file.
func (x *file) txid() (id uint64, err error) {
	err = guard(func() error {
		tx, err := x.Begin(false)
		if err != nil {
			return err
		}
		id = uint64(tx.ID())
		return tx.Rollback()
	})
	return id, err
}

// settle commits an empty transaction. Then both headers of the file lead to the same items, and damage to one of them
// cannot bring back what the latest write changed. It may fail, because everything acknowledged is already on disk.
func (x *file) settle() {
	_ = guard(func() error { return x.Update(func(*bolt.Tx) error { return nil }) })
}

// guard turns a panic of bbolt, or a fault in its mapping (a truncated file, a failing disk), into an error.
func guard(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = &panicError{r}
		}
	}()
	return f()
}

// panicError is a panic of bbolt. It matches ErrDamaged.
type panicError struct{ value any }

func (e *panicError) Error() string { return fmt.Sprintf("%v: %v", hamming.ErrDamaged, e.value) }
func (e *panicError) Unwrap() error { return ErrDamaged }

// realPath resolves links, so that a new file replaces the file and not a link to it.
func realPath(path string) (string, error) {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	return filepath.Abs(path)
}

// moveInto gives a finished file its name, unless that name exists.
func moveInto(tmp, path string) error {
	if err := checkVacant(path); err != nil {
		return err
	}
	err := os.Link(tmp, path)
	switch {
	case err == nil:
		err = os.Remove(tmp)
	case errors.Is(err, fs.ErrExist):
		return existsError(path)
	case errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrPermission): // a file system without links
		err = os.Rename(tmp, path)
	}
	if err != nil {
		return err
	}
	return fileio.SyncFolder(filepath.Dir(path))
}

// checkVacant returns an error if the path exists, even as a dangling link.
func checkVacant(path string) error {
	switch _, err := os.Lstat(path); {
	case err == nil:
		return existsError(path)
	case errors.Is(err, fs.ErrNotExist):
		return nil
	default:
		return err
	}
}

func existsError(path string) error {
	return fmt.Errorf("%s: %w: nothing is overwritten: choose another name or remove it", path, fs.ErrExist)
}
