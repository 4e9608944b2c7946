//go:build linux && amd64

package disktest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// call reads the arguments of a system call that is about to start.
func (f *follower) call(r *syscall.PtraceRegs) (*step, error) {
	switch r.Orig_rax {
	case unix.SYS_OPEN:
		return f.open(unix.AT_FDCWD, r.Rdi, r.Rsi)
	case unix.SYS_OPENAT:
		return f.open(int(int32(r.Rdi)), r.Rsi, r.Rdx)
	case unix.SYS_RENAME:
		return f.names(Rename, unix.AT_FDCWD, r.Rdi, unix.AT_FDCWD, r.Rsi)
	case unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2:
		if r.Orig_rax == unix.SYS_RENAMEAT2 && r.R8 != 0 {
			return nil, errors.New("renameat2 with flags is not modelled")
		}
		return f.names(Rename, int(int32(r.Rdi)), r.Rsi, int(int32(r.Rdx)), r.R10)
	case unix.SYS_LINK:
		return f.names(Link, unix.AT_FDCWD, r.Rdi, unix.AT_FDCWD, r.Rsi)
	case unix.SYS_LINKAT:
		if r.R8 != 0 {
			return nil, errors.New("linkat with flags is not modelled")
		}
		return f.names(Link, int(int32(r.Rdi)), r.Rsi, int(int32(r.Rdx)), r.R10)
	case unix.SYS_UNLINK:
		return f.name(Unlink, unix.AT_FDCWD, r.Rdi)
	case unix.SYS_RMDIR:
		return f.name(Rmdir, unix.AT_FDCWD, r.Rdi)
	case unix.SYS_UNLINKAT:
		kind := Unlink
		if r.Rdx&unix.AT_REMOVEDIR != 0 {
			kind = Rmdir
		}
		return f.name(kind, int(int32(r.Rdi)), r.Rsi)
	case unix.SYS_MKDIR:
		return f.mkdir(unix.AT_FDCWD, r.Rdi)
	case unix.SYS_MKDIRAT:
		return f.mkdir(int(int32(r.Rdi)), r.Rsi)
	case unix.SYS_STAT, unix.SYS_LSTAT:
		return f.name(Stat, unix.AT_FDCWD, r.Rdi)
	case unix.SYS_NEWFSTATAT, unix.SYS_STATX:
		return f.name(Stat, int(int32(r.Rdi)), r.Rsi)
	case unix.SYS_CHMOD, unix.SYS_CHOWN, unix.SYS_LCHOWN:
		return f.name(Chmod, unix.AT_FDCWD, r.Rdi)
	case unix.SYS_FCHMODAT, unix.SYS_FCHOWNAT:
		return f.name(Chmod, int(int32(r.Rdi)), r.Rsi)
	case unix.SYS_MMAP:
		if _, ok := f.file(Open, r.R8); ok && r.Rdx&unix.PROT_WRITE != 0 && r.R10&unix.MAP_SHARED != 0 {
			return nil, errors.New("a file is mapped to be written, which is not modelled")
		}
		return &step{}, nil
	}
	return f.onFile(r)
}

// onFile reads the arguments of a call on an open file.
func (f *follower) onFile(r *syscall.PtraceRegs) (*step, error) {
	kind, ok := map[uint64]Kind{
		unix.SYS_WRITE: Write, unix.SYS_PWRITE64: Write, unix.SYS_WRITEV: Write, unix.SYS_COPY_FILE_RANGE: Write,
		unix.SYS_SENDFILE: Write, unix.SYS_FTRUNCATE: Truncate, unix.SYS_FALLOCATE: Truncate,
		unix.SYS_FSYNC: Sync, unix.SYS_FDATASYNC: Sync, unix.SYS_READ: Read, unix.SYS_PREAD64: Read,
		unix.SYS_GETDENTS64: List, unix.SYS_FSTAT: Stat, unix.SYS_FCHMOD: Chmod, unix.SYS_FCHOWN: Chmod,
		unix.SYS_FLOCK: Flock, unix.SYS_CLOSE: Close,
	}[r.Orig_rax]
	if !ok {
		return &step{}, f.unmodelled(r)
	}
	if r.Orig_rax == unix.SYS_WRITE && (r.Rdi == 1 || r.Rdi == 2) {
		text, err := f.bytes(r.Rsi, r.Rdx)
		return &step{op: &Op{Kind: Said, At: int64(r.Rdi), Data: text}}, err
	}
	descriptor := r.Rdi
	if r.Orig_rax == unix.SYS_COPY_FILE_RANGE {
		descriptor = r.Rdx
	}
	op, ok := f.file(kind, descriptor)
	if !ok {
		return &step{}, nil
	}
	s := &step{op: op}
	switch kind {
	case Write:
		return s, f.write(s, descriptor, r)
	case Truncate:
		op.At = int64(r.Rsi)
		if r.Orig_rax == unix.SYS_FALLOCATE {
			return nil, errors.New("fallocate is not modelled")
		}
	}
	return s, nil
}

// unmodelled returns an error for calls that change files in ways the model does not know, and for network access.
func (f *follower) unmodelled(r *syscall.PtraceRegs) error {
	switch r.Orig_rax {
	case unix.SYS_PWRITEV, unix.SYS_PWRITEV2, unix.SYS_SPLICE, unix.SYS_CREAT, unix.SYS_OPENAT2, unix.SYS_TRUNCATE,
		unix.SYS_SYMLINK, unix.SYS_SYMLINKAT, unix.SYS_MKNOD, unix.SYS_MKNODAT, unix.SYS_SYNC, unix.SYS_SYNCFS,
		unix.SYS_IO_URING_SETUP, unix.SYS_IO_SETUP, unix.SYS_EXECVE, unix.SYS_EXECVEAT:
		return fmt.Errorf("system call %d is not modelled", r.Orig_rax)
	case unix.SYS_SOCKET:
		if r.Rdi != unix.AF_UNIX { // not the network; looking up a user may try it
			return fmt.Errorf("a socket of family %d was opened, and no command that is followed may use a network", r.Rdi)
		}
	case unix.SYS_IOCTL:
		if _, ok := f.file(Open, r.Rdi); ok && (r.Rsi == unix.FICLONE || r.Rsi == unix.FICLONERANGE) {
			return errors.New("clones of files are not modelled")
		}
	}
	return nil
}

// open handles an open, which may create or truncate a file.
func (f *follower) open(folder int, name, flags uint64) (*step, error) {
	s, err := f.name(Open, folder, name)
	if err != nil || s.op == nil {
		return s, err
	}
	if flags&unix.O_TMPFILE == unix.O_TMPFILE {
		return nil, errors.New("files without a name are not modelled")
	}
	_, err = os.Lstat(filepath.Join(f.folder, s.op.Path))
	switch {
	case os.IsNotExist(err) && flags&unix.O_CREAT != 0:
		s.op.Kind = Create
	case flags&unix.O_TRUNC != 0:
		s.op.Kind = Truncate
	}
	s.finish = func(result int64) error {
		there, ok := f.file(s.op.Kind, uint64(result))
		if !ok {
			return errors.New("the file that was opened lies elsewhere")
		}
		s.op.Inode = there.Inode
		return nil
	}
	return s, nil
}

// name handles an operation on a name.
func (f *follower) name(kind Kind, folder int, name uint64) (*step, error) {
	path, ok, err := f.path(folder, name)
	if err != nil || !ok {
		return &step{}, err
	}
	return &step{op: &Op{Kind: kind, Path: path}}, nil
}

// names handles an operation on two names.
func (f *follower) names(kind Kind, folder int, name uint64, toFolder int, to uint64) (*step, error) {
	path, ok, err := f.path(folder, name)
	if err != nil {
		return nil, err
	}
	target, too, err := f.path(toFolder, to)
	if err != nil {
		return nil, err
	}
	if ok != too {
		return nil, errors.New("a file moves into the folder or out of it, which is not modelled")
	}
	if !ok {
		return &step{}, nil
	}
	return &step{op: &Op{Kind: kind, Path: path, To: target}}, nil
}

func (f *follower) mkdir(folder int, name uint64) (*step, error) {
	s, err := f.name(Mkdir, folder, name)
	if err == nil && s.op != nil {
		s.finish = func(int64) error {
			var there unix.Stat_t
			err := unix.Lstat(filepath.Join(f.folder, s.op.Path), &there)
			s.op.Inode = there.Ino
			return err
		}
	}
	return s, err
}

// write handles any call that writes to a file.
func (f *follower) write(s *step, descriptor uint64, r *syscall.PtraceRegs) error {
	var err error
	if s.op.At, err = f.position(descriptor); err != nil {
		return err
	}
	switch r.Orig_rax {
	case unix.SYS_PWRITE64:
		s.op.At = int64(r.R10)
		fallthrough
	case unix.SYS_WRITE:
		s.op.Data, err = f.bytes(r.Rsi, r.Rdx)
		s.op.Parts = true
	case unix.SYS_WRITEV:
		s.op.Data, err = f.vector(r.Rsi, r.Rdx)
	case unix.SYS_COPY_FILE_RANGE:
		if r.R10 != 0 {
			return errors.New("copy_file_range with an offset is not modelled")
		}
	}
	s.finish = func(result int64) error {
		if s.op.Data != nil {
			s.op.Data = s.op.Data[:result]
			return nil
		}
		// The kernel has copied from another file.
		file, err := os.Open(fmt.Sprintf("/proc/%d/fd/%d", f.pid, descriptor))
		if err != nil {
			return err
		}
		defer file.Close()
		s.op.Data = make([]byte, result)
		_, err = file.ReadAt(s.op.Data, s.op.At)
		return err
	}
	return err
}

// position returns the offset of the next write to a file.
func (f *follower) position(descriptor uint64) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/fdinfo/%d", f.pid, descriptor))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(text)) // pos: 0 flags: 0100002 ...
	if len(fields) < 4 || fields[0] != "pos:" || fields[2] != "flags:" {
		return 0, fmt.Errorf("fdinfo is %q", text)
	}
	flags, err := strconv.ParseUint(fields[3], 8, 64)
	if err != nil {
		return 0, err
	}
	if flags&unix.O_APPEND != 0 {
		info, err := os.Stat(fmt.Sprintf("/proc/%d/fd/%d", f.pid, descriptor))
		if err != nil {
			return 0, err
		}
		return info.Size(), nil
	}
	return strconv.ParseInt(fields[1], 10, 64)
}

// file starts an operation on an open file. It returns false if that is not below the folder.
func (f *follower) file(kind Kind, descriptor uint64) (*Op, bool) {
	link := fmt.Sprintf("/proc/%d/fd/%d", f.pid, int32(descriptor))
	name, err := os.Readlink(link)
	if err != nil {
		return nil, false
	}
	path, ok := f.below(strings.TrimSuffix(name, " (deleted)"))
	if !ok {
		return nil, false
	}
	var there unix.Stat_t
	if unix.Stat(link, &there) != nil {
		return nil, false
	}
	return &Op{Kind: kind, Path: path, Inode: there.Ino}, true
}

// path reads the name of a file. It returns false if that is not below the folder.
func (f *follower) path(folder int, address uint64) (string, bool, error) {
	name, err := f.text(address)
	if err != nil {
		return "", false, err
	}
	if name == "" {
		return "", false, nil
	}
	if !filepath.IsAbs(name) {
		link := fmt.Sprintf("/proc/%d/cwd", f.pid)
		if folder != unix.AT_FDCWD {
			link = fmt.Sprintf("/proc/%d/fd/%d", f.pid, folder)
		}
		base, err := os.Readlink(link)
		if err != nil {
			return "", false, err
		}
		name = filepath.Join(base, name)
	}
	path, ok := f.below(filepath.Clean(name))
	return path, ok, nil
}

func (f *follower) below(name string) (string, bool) {
	if name == f.folder {
		return ".", true
	}
	return strings.CutPrefix(name, f.folder+"/")
}

// bytes reads memory of the process.
func (f *follower) bytes(address, length uint64) ([]byte, error) {
	b := make([]byte, length)
	_, err := f.memory.ReadAt(b, int64(address))
	return b, err
}

// vector reads the parts of a gathering write.
func (f *follower) vector(address, parts uint64) ([]byte, error) {
	all := []byte{}
	for i := range parts {
		part, err := f.bytes(address+16*i, 16)
		if err != nil {
			return nil, err
		}
		b, err := f.bytes(binary.LittleEndian.Uint64(part), binary.LittleEndian.Uint64(part[8:]))
		if err != nil {
			return nil, err
		}
		all = append(all, b...)
	}
	return all, nil
}

// text reads a string that ends with a zero byte.
func (f *follower) text(address uint64) (string, error) {
	var all []byte
	for len(all) < 1<<16 {
		b := make([]byte, 256-(address+uint64(len(all)))%256) // stay within a page that exists
		n, err := f.memory.ReadAt(b, int64(address)+int64(len(all)))
		if i := bytes.IndexByte(b[:n], 0); i >= 0 {
			return string(append(all, b[:i]...)), nil
		}
		if err != nil && err != io.EOF {
			return "", err
		}
		all = append(all, b[:n]...)
	}
	return "", errors.New("a name without an end")
}
