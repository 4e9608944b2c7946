package disktest

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// newDisk returns an empty disk whose root has the number 1.
func newDisk() *Disk {
	root := newNode(true)
	return &Disk{root, map[uint64]*node{1: root}}
}

// after lists the files after operations and a cut, as name=contents.
func after(t *testing.T, c Cut, ops ...Op) string {
	t.Helper()
	disk := newDisk()
	for i, o := range ops {
		if o.Began == 0 {
			o.Began = i
		}
		if err := disk.Apply(o, i); err != nil {
			t.Fatal(err)
		}
	}
	return listed(disk.After(c))
}

func listed(tree Tree) string {
	var all []string
	for name, data := range tree {
		all = append(all, name+"="+string(data))
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

func TestDiskForgets(t *testing.T) {
	create := Op{Kind: Create, Path: "tmp", Inode: 2}
	write := Op{Kind: Write, Inode: 2, Data: []byte("data")}
	sync := Op{Kind: Sync, Inode: 2}
	rename := Op{Kind: Rename, Path: "tmp", To: "file"}
	folder := Op{Kind: Sync, Inode: 1}
	failed := Op{Kind: Sync, Inode: 2, Err: syscall.EIO}
	mkdir, inner := Op{Kind: Mkdir, Path: "dir", Inode: 3}, Op{Kind: Create, Path: "dir/x", Inode: 4}
	for _, test := range []struct {
		name string
		ops  []Op
		cut  Cut
		want string
	}{
		{"nothing is synced", []Op{create, write, rename}, Synced, ""},
		{"everything is kept", []Op{create, write, rename}, Everything, "file=data"},
		{"the data alone are synced", []Op{create, write, sync, rename}, Synced, ""},
		{"the name alone is synced", []Op{create, write, rename, folder}, Synced, "file="},
		{"the name overtakes the data", []Op{create, write, rename}, NamesFirst, "file="},
		{"the rename is lost", []Op{create, folder, write, sync, rename}, Synced, "tmp=data"},
		{"all is synced", []Op{create, write, sync, rename, folder}, Synced, "file=data"},
		{"a failed sync loses data", []Op{create, write, failed, sync, rename, folder}, Synced, "file="},
		{"a removal is lost", []Op{create, folder, {Kind: Unlink, Path: "tmp"}}, Synced, "tmp="},
		{"a removal is synced", []Op{create, folder, {Kind: Unlink, Path: "tmp"}, folder}, Synced, ""},
		{"a folder of a lost name", []Op{mkdir, inner, {Kind: Sync, Inode: 3}}, Synced, ""},
		{"a folder of a synced name", []Op{mkdir, inner, {Kind: Sync, Inode: 3}, folder}, Synced, "dir/x= dir="},
		{"a lost name in a folder", []Op{mkdir, inner, folder}, Synced, "dir="},
		{"a sync that began before the write", []Op{create, folder, write, {Kind: Sync, Inode: 2, Began: 1}}, Synced, "tmp="},
		{"an operation that failed", []Op{{Kind: Create, Path: "tmp", Err: syscall.ENOSPC}}, Everything, ""},
	} {
		if got := after(t, test.cut, test.ops...); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

// TestDiskTears checks that random cuts of a write lose any subset of its sectors and never tear a sector.
func TestDiskTears(t *testing.T) {
	disk := newDisk()
	data := bytes.Repeat([]byte("x"), 3*sector)
	for i, o := range []Op{{Kind: Create, Path: "f", Inode: 2}, {Kind: Sync, Inode: 1, Began: 1},
		{Kind: Write, Inode: 2, At: 100, Data: data}} {
		if err := disk.Apply(o, i); err != nil {
			t.Fatal(err)
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	seen := map[string]bool{}
	for range 300 {
		b := disk.After(RandomCut(rng))["f"]
		var kept strings.Builder
		for lo := 0; lo < len(b); lo += sector {
			part := bytes.TrimLeft(b[lo:min(lo+sector, len(b))], "\x00")
			switch {
			case len(part) == 0:
				kept.WriteByte('0')
			case len(bytes.Trim(part, "x")) > 0:
				t.Fatalf("a sector of %q", part)
			default:
				kept.WriteByte('1')
			}
		}
		seen[kept.String()] = true
	}
	if len(seen) != 16 { // four sectors; the last may end the file
		t.Errorf("%d ways to tear four sectors: %v", len(seen), seen)
	}
}
