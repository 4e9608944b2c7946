//go:build linux

package disktest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// NewDisk returns a disk with the contents of a folder, all of it synced.
func NewDisk(folder string) (*Disk, error) {
	t := &Disk{nodes: map[uint64]*node{}}
	err := filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		n := newNode(d.IsDir())
		switch {
		case !d.IsDir() && !d.Type().IsRegular():
			return fmt.Errorf("%s is neither a file nor a folder", name)
		case !d.IsDir():
			if n.data, err = os.ReadFile(name); err != nil {
				return err
			}
		}
		inode := info.Sys().(*syscall.Stat_t).Ino
		if same := t.nodes[inode]; same != nil {
			n = same // a second name
		}
		t.nodes[inode] = n
		if name == folder {
			t.root = n
			return nil
		}
		rel, err := filepath.Rel(folder, name)
		if err != nil {
			return err
		}
		parent, base, err := t.parent(rel)
		if err == nil {
			parent.names[base], parent.now[base] = n, n
		}
		return err
	})
	return t, err
}

// ReadTree reads a folder.
func ReadTree(folder string) (Tree, error) {
	t, err := NewDisk(folder)
	if err != nil {
		return nil, err
	}
	return t.After(Synced), nil
}
