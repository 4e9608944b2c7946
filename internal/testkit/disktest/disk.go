package disktest

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Disk models a file system that keeps only what POSIX guarantees after a power cut:
//
//   - data written to a file is on disk once the file has been synced; before that, any part of it may be, in any
//     order, each write torn between sectors, the length of the file old or new;
//   - a name is on disk once its folder has been synced after it was made, removed or renamed; before that, any of
//     these changes may be on disk, a rename as a whole or not at all, whether or not the file's data are;
//   - data whose sync failed with EIO is never written, as on Linux: a second sync does not try again.
//
// Real file systems keep more. A program that survives this survives them.
type Disk struct {
	root  *node
	nodes map[uint64]*node // by number, of those that are open or have a name
}

// node is a file or a folder.
type node struct {
	folder  bool
	data    []byte           // on disk
	names   map[string]*node // on disk
	now     map[string]*node // as seen by programs
	pending []change         // not yet on disk, in order
}

// change is a change to a file or folder.
type change struct {
	kind     Kind
	step     int // in the record
	at       int64
	data     []byte
	name, to string
	node     *node
}

const sector = 512

func newNode(folder bool) *node {
	n := &node{folder: folder}
	if folder {
		n.names, n.now = map[string]*node{}, map[string]*node{}
	}
	return n
}

// parent returns the folder of a path.
func (t *Disk) parent(path string) (*node, string, error) {
	n := t.root
	parts := strings.Split(filepath.ToSlash(path), "/")
	for _, part := range parts[:len(parts)-1] {
		if n = n.now[part]; n == nil || !n.folder {
			return nil, "", fmt.Errorf("%s is not in a folder that is there", path)
		}
	}
	return n, parts[len(parts)-1], nil
}

// Apply applies an operation, given its step in the record.
func (t *Disk) Apply(o Op, step int) error {
	if err := t.apply(o, step); err != nil {
		return fmt.Errorf("%v: %w", o, err)
	}
	return nil
}

func (t *Disk) apply(o Op, step int) error {
	if o.Err != 0 && o.Kind != Sync {
		return nil
	}
	switch o.Kind {
	case Write, Truncate, Sync:
		n := t.nodes[o.Inode]
		if n == nil {
			return fmt.Errorf("its file was never opened")
		}
		if o.Kind == Sync {
			n.sync(o)
		} else {
			n.pending = append(n.pending, change{kind: o.Kind, step: step, at: o.At, data: o.Data})
		}
		return nil
	case Create, Mkdir, Unlink, Rmdir, Rename, Link:
		return t.rename(o, step)
	}
	return nil
}

// rename applies a change of names.
func (t *Disk) rename(o Op, step int) error {
	folder, name, err := t.parent(o.Path)
	if err != nil {
		return err
	}
	c := change{kind: o.Kind, step: step, name: name, node: folder.now[name]}
	switch o.Kind {
	case Create, Mkdir:
		c.node = newNode(o.Kind == Mkdir)
		t.nodes[o.Inode] = c.node
	case Rename, Link:
		var to *node
		if to, c.to, err = t.parent(o.To); err != nil {
			return err
		}
		if to != folder {
			return fmt.Errorf("names that move between folders are not modelled")
		}
	}
	if c.node == nil {
		return fmt.Errorf("there is no such name")
	}
	c.rename(folder.now)
	folder.pending = append(folder.pending, c)
	return nil
}

// rename applies a change to the names of a folder.
func (c change) rename(names map[string]*node) {
	switch c.kind {
	case Create, Mkdir:
		names[c.name] = c.node
	case Link:
		names[c.to] = c.node
	default:
		if names[c.name] == c.node {
			delete(names, c.name)
		}
		if c.kind == Rename {
			names[c.to] = c.node
		}
	}
}

// sync makes changes durable that were made before the sync began.
func (n *node) sync(o Op) {
	done := 0
	for done < len(n.pending) && n.pending[done].step < o.Began {
		done++
	}
	switch {
	case o.Err == syscall.EIO && !n.folder: // the data are lost
	case o.Err != 0:
		return
	case n.folder:
		for _, c := range n.pending[:done] {
			c.rename(n.names)
		}
	default:
		for _, c := range n.pending[:done] {
			n.data = c.write(n.data, always)
		}
	}
	n.pending = slices.Clone(n.pending[done:])
}

func always() bool { return true }
func never() bool  { return false }

// write applies a change to the contents of a file. Sectors for which keep returns false stay unchanged.
func (c change) write(data []byte, keep func() bool) []byte {
	switch c.kind {
	case Truncate:
		if !keep() {
			return data
		}
		if c.at <= int64(len(data)) {
			return data[:c.at:c.at]
		}
		return append(data, make([]byte, c.at-int64(len(data)))...)
	case Write:
		for lo := 0; lo < len(c.data); {
			hi := min(lo+sector-int((c.at+int64(lo))%sector), len(c.data))
			if keep() {
				if need := int(c.at) + hi; need > len(data) {
					data = append(data, make([]byte, need-len(data))...)
				}
				copy(data[int(c.at)+lo:], c.data[lo:hi])
			}
			lo = hi
		}
	}
	return data
}

// Cut decides which unsynced changes reach the disk in a power cut.
type Cut struct {
	names, data func() bool
	whole       bool       // no write is torn
	rng         *rand.Rand // shuffles writes
}

// The deterministic cuts: only what was synced; everything; all names and no data, as if a rename overtook the file it
// publishes; all data and no names.
var (
	Synced     = Cut{names: never, data: never}
	Everything = Cut{names: always, data: always}
	NamesFirst = Cut{names: always, data: never}
	DataFirst  = Cut{names: never, data: always}
)

// RandomCut keeps some of the changes.
func RandomCut(rng *rand.Rand) Cut {
	some := func() func() bool {
		share := []float64{0.1, 0.5, 0.9}[rng.IntN(3)]
		return func() bool { return rng.Float64() < share }
	}
	return Cut{some(), some(), rng.IntN(2) == 0, rng}
}

// Tree maps paths to contents of files; folders have nil contents.
type Tree map[string][]byte

// After returns the files that remain after a power cut.
func (t *Disk) After(c Cut) Tree {
	tree := Tree{}
	t.root.collect("", c, tree, map[*node][]byte{})
	return tree
}

// collect adds the contents of a folder. A file with two names has the same contents under both.
func (n *node) collect(prefix string, c Cut, tree Tree, seen map[*node][]byte) {
	names := maps.Clone(n.names)
	for _, p := range n.pending {
		if c.names() {
			p.rename(names)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		at := names[name]
		if at.folder {
			tree[prefix+name] = nil
			at.collect(prefix+name+"/", c, tree, seen)
			continue
		}
		if seen[at] == nil {
			seen[at] = at.contents(c)
		}
		tree[prefix+name] = seen[at]
	}
}

// contents returns the contents of a file, never nil.
func (n *node) contents(c Cut) []byte {
	data := append([]byte{}, n.data...)
	order := slices.Clone(n.pending)
	if c.rng != nil {
		c.rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	}
	for _, p := range order {
		keep := c.data
		if c.whole {
			kept := c.data()
			keep = func() bool { return kept }
		}
		data = p.write(data, keep)
	}
	return data
}

// Sum returns a digest of a tree.
func (t Tree) Sum() [32]byte {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(t)) {
		fmt.Fprintf(h, "%q %v %d\n", name, t[name] == nil, len(t[name]))
		h.Write(t[name])
	}
	return [32]byte(h.Sum(nil))
}

// WriteTo writes the tree to an empty folder, with files that only their owner can read.
func (t Tree) WriteTo(folder string) error {
	for _, name := range slices.Sorted(maps.Keys(t)) {
		path := filepath.Join(folder, filepath.FromSlash(name))
		var err error
		if t[name] == nil {
			err = os.Mkdir(path, 0o777)
		} else {
			err = os.WriteFile(path, t[name], 0o600)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Differences returns the paths in which two trees differ.
func (t Tree) Differences(o Tree) []string {
	var names []string
	for name := range maps.All(t) {
		if _, ok := o[name]; !ok || !bytes.Equal(t[name], o[name]) {
			names = append(names, name)
		}
	}
	for name := range o {
		if _, ok := t[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
