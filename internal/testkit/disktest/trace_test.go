//go:build linux && amd64

package disktest

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"hashgrove/internal/testkit/needs"
)

// The test binary runs itself again as one of these children, in the watched folder.
var children = map[string]func() error{"all": doAll, "map": mapShared, "move": moveAway, "call": callOut}

const childVariable = "HASHGROVE_DISKTEST_CHILD"

func TestMain(m *testing.M) {
	if child := children[os.Getenv(childVariable)]; child != nil {
		if err := child(); err != nil {
			os.Stderr.WriteString(err.Error())
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// doAll makes every operation that is modelled.
func doAll() error {
	var errs []error
	ok := func(err error) { errs = append(errs, err) }
	open := func(name string, flags int) *os.File {
		f, err := os.OpenFile(name, flags, 0o666)
		ok(err)
		return f
	}
	f := open("new", os.O_RDWR|os.O_CREATE|os.O_EXCL)
	_, err := f.WriteString("hello, world")
	ok(err)
	_, err = f.WriteAt([]byte("far away"), 1000)
	ok(err)
	_, err = unix.Writev(int(f.Fd()), [][]byte{[]byte("two "), []byte("parts")})
	ok(err)
	ok(f.Truncate(1005))
	ok(f.Sync())
	ok(os.Rename("new", "newer"))
	_, err = f.WriteString("after the rename")
	ok(err)
	ok(os.Link("newer", "linked"))
	ok(os.Remove("newer"))
	ok(f.Close())
	f = open("old", os.O_WRONLY|os.O_APPEND)
	_, err = f.WriteString(" appended")
	ok(err)
	ok(f.Close())
	ok(open("emptied", os.O_WRONLY|os.O_TRUNC).Close())
	from, to := open("old", os.O_RDONLY), open("copy", os.O_WRONLY|os.O_CREATE)
	_, err = io.Copy(to, from)
	ok(err)
	ok(to.Close())
	ok(os.MkdirAll("a/b", 0o777))
	ok(os.WriteFile("a/b/file", make([]byte, 3000), 0o666))
	ok(os.Mkdir("c", 0o777))
	ok(os.Remove("c"))
	unnamed := open("unnamed", os.O_RDWR|os.O_CREATE)
	ok(os.Remove("unnamed"))
	_, err = unnamed.WriteString("written without a name")
	ok(err)
	ok(unix.Fdatasync(int(unnamed.Fd())))
	_, err = os.Stdout.WriteString("done")
	ok(err)
	return errors.Join(errs...)
}

func mapShared() error {
	f, err := os.OpenFile("old", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	_, err = unix.Mmap(int(f.Fd()), 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	return err
}

func moveAway() error { return os.Rename("old", "../elsewhere") }

func callOut() error {
	_, err := unix.Socket(unix.AF_INET6, unix.SOCK_DGRAM, 0)
	return err
}

func follow(t *testing.T, child string, plan *Plan) (folder string, disk *Disk, run *Run, err error) {
	t.Helper()
	folder = filepath.Join(t.TempDir(), "watched")
	tree := Tree{"old": []byte("it was there"), "emptied": []byte("not for long"), "sub": nil, "sub/file": []byte("x")}
	if err := errors.Join(os.Mkdir(folder, 0o777), tree.WriteTo(folder)); err != nil {
		t.Fatal(err)
	}
	if disk, err = NewDisk(folder); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), childVariable+"="+child)
	if run, err = Follow(cmd, folder, plan); errors.Is(err, ErrNotPermitted) {
		needs.Skip(t, needs.Ptrace, err)
	}
	return folder, disk, run, err
}

// TestFollowSeesEverything replays a record and compares the result with the disk.
func TestFollowSeesEverything(t *testing.T) {
	folder, disk, run, err := follow(t, "all", nil)
	if err != nil || run.Status != 0 || run.Output != "done" {
		t.Fatalf("%v, %+v", err, run)
	}
	kinds := map[Kind]bool{}
	for i, o := range run.Ops {
		if err := disk.Apply(o, i); err != nil {
			t.Fatal(err)
		}
		kinds[o.Kind] = true
	}
	there, err := ReadTree(folder)
	if err != nil {
		t.Fatal(err)
	}
	if d := disk.After(Everything).Differences(there); len(d) > 0 {
		t.Errorf("the model differs from the files in %v", d)
	}
	if len(there) != 9 || string(there["copy"]) != "it was there appended" {
		t.Errorf("the folder has %d files: %q", len(there), there)
	}
	for _, k := range []Kind{Open, Create, Write, Truncate, Sync, Rename, Link, Unlink, Mkdir, Rmdir, Close, Said} {
		if !kinds[k] {
			t.Errorf("no %s was seen", k)
		}
	}
}

// TestFollowRefusesWhatItCannotModel checks that nothing is silently ignored.
func TestFollowRefusesWhatItCannotModel(t *testing.T) {
	for child, want := range map[string]string{"map": "mapped to be written", "move": "out of it", "call": "a network"} {
		if _, _, _, err := follow(t, child, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", child, err)
		}
	}
}

// TestFaultsReachTheProgram makes every operation of a program fail; each failure must be noticed.
func TestFaultsReachTheProgram(t *testing.T) {
	_, _, plain, err := follow(t, "all", nil)
	if err != nil {
		t.Fatal(err)
	}
	errno := map[Fault]syscall.Errno{NoSpace: syscall.ENOSPC, BadDisk: syscall.EIO, Full: syscall.ENOSPC, Gone: syscall.EIO}
	for _, o := range plain.Ops {
		if o.Kind != Write && o.Kind != Rename && o.Kind != Sync && o.Kind != Close || o.Path == "copy" {
			continue
		}
		for _, fault := range o.Faults() {
			plan := PlanFor(o, fault)
			folder, disk, run, err := follow(t, "all", &plan)
			if err != nil {
				t.Fatal(err)
			}
			if len(run.Injected) == 0 || run.Injected[0].Kind != o.Kind || run.Injected[0].Path != o.Path {
				t.Errorf("%s of %v befell %v", fault, o, run.Injected)
			}
			if want, fails := errno[fault]; fails && (run.Status != 1 || !strings.Contains(run.Output, want.Error())) {
				t.Errorf("%s of %v: status %d, %s", fault, o, run.Status, run.Output)
			}
			lost := slices.ContainsFunc(run.Injected, func(o Op) bool { return o.Kind == Sync && o.Err == syscall.EIO })
			for i, o := range run.Ops {
				if err := disk.Apply(o, i); err != nil {
					t.Fatal(err)
				}
			}
			there, err := ReadTree(folder)
			if err != nil {
				t.Fatal(err)
			}
			if d := disk.After(Everything).Differences(there); len(d) > 0 && !lost {
				t.Errorf("%s of %v: the model differs from the files in %v", fault, o, d)
			}
		}
	}
}

// TestPlansNameWhatTheyStrike: a plan counts exactly the operations it names, whatever their numbers.
func TestPlansNameWhatTheyStrike(t *testing.T) {
	write := func(path string) *Op { return &Op{Kind: Write, Path: path, Data: []byte("ab"), Parts: true} }
	a, b := write("m.hgm.0a1b2c3d.tmp"), write("b")
	again := write("m.hgm.99999999.tmp") // the same file in another run
	p := planned{plan: &Plan{Kind: Write, Path: Stable(a.Path), Nth: 2, Fault: Short, Then: &Plan{Kind: Sync, Nth: 1, Fault: Gone}}}
	for i, c := range []struct {
		op   *Op
		want Fault
	}{
		{&Op{Kind: Sync, Path: "b"}, ""}, // the second fault comes after the first
		{b, ""},
		{again, ""},
		{&Op{Kind: Read, Path: a.Path}, ""},
		{&Op{Kind: Write, Path: a.Path, Data: []byte("ab")}, ""}, // the second, which cannot be cut short
		{again, Short},
		{again, ""},
		{&Op{Kind: Sync, Path: "b"}, BadDisk},
		{b, BadDisk},
	} {
		if got, _ := p.strike(c.op); got != c.want {
			t.Errorf("%d: %v fails with %q, want %q", i, *c.op, got, c.want)
		}
	}
	repeated := planned{plan: &Plan{Kind: Write, Path: "b", Nth: 2, Fault: BadDisk}}
	_, first := repeated.strike(b)
	repeated.forget(b) // a signal came
	_, second := repeated.strike(b)
	_, third := repeated.strike(b)
	if first || second || !third {
		t.Errorf("an operation that was repeated was counted twice: %v %v %v", first, second, third)
	}
}
