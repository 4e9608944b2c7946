package store

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/message"
	"hashgrove/internal/model"
	"hashgrove/internal/vectors"
)

// TestNothingIsOverwritten checks Create, BackupFile and Restore on existing names, including a dangling link, and that
// nothing is left behind if a backup is damaged.
func TestNothingIsOverwritten(t *testing.T) {
	s, path := create(t, Options{Bits: 8})
	before, err := os.ReadFile(path)
	ok(t, err)
	link := filepath.Join(t.TempDir(), "link")
	ok(t, os.Symlink(filepath.Join(t.TempDir(), "nowhere"), link))
	backup := filepath.Join(t.TempDir(), "backup")
	fine(t)(s.BackupFile(ctx, backup))
	for _, to := range []string{path, link, t.TempDir()} {
		if _, err := Create(ctx, to, Options{Bits: 8}); !errors.Is(err, fs.ErrExist) {
			t.Errorf("create: %v", err)
		}
		if _, err := s.BackupFile(ctx, to); !errors.Is(err, fs.ErrExist) {
			t.Errorf("backup: %v", err)
		}
		if _, err := Restore(ctx, backup, to); !errors.Is(err, fs.ErrExist) {
			t.Errorf("restore: %v", err)
		}
	}
	ok(t, os.Truncate(backup, int64(len(before)/2)))
	if _, err := Restore(ctx, backup, path+"2"); !errors.Is(err, hamming.ErrDamaged) {
		t.Errorf("half a backup: %v", err)
	}
	after, err := os.ReadFile(path)
	if ok(t, err); !bytes.Equal(before, after) {
		t.Error("the file has changed")
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*"))
	if ok(t, err); len(left) != 1 {
		t.Errorf("files left over: %v", left)
	}
}

func TestMigrate(t *testing.T) {
	const n = 500
	old, next := projection(6, 24, 1), projection(6, 100, 2)
	m := maker{rand.New(rand.NewPCG(3, 3)), 24}
	x := vectors.Table{X: vectors.Matrix{Rows: n, Cols: 6, Data: make([]float32, 6*n)}}
	for i := range x.X.Data {
		x.X.Data[i] = float32(m.NormFloat64())
	}
	s, path := create(t, Options{Model: old, Note: "stays"})
	b := index.NewBatch(24)
	for i := range n {
		x.IDs = append(x.IDs, fmt.Sprint("photo ", i*7919%n))
		code, err := old.EncodeRow(x.X.Row(i))
		ok(t, err)
		it := m.item(index.Text(x.IDs[i]))
		it.Code = code
		if i%5 > 0 { // the others have vectors, but are not in the index
			b.Append(it)
		}
	}
	ok(t, s.Add(ctx, b))
	ok(t, s.Close())
	before, err := os.ReadFile(path)
	ok(t, err)

	other := func(at int, id string) vectors.Table {
		y := x
		y.IDs = slices.Clone(x.IDs)
		y.IDs[at] = id
		return y
	}
	id := fmt.Sprintf("%q", x.IDs[1])
	_, missing := Migrate(ctx, path, next, other(1, "something else"), nil)
	_, twice := Migrate(ctx, path, next, other(0, x.IDs[1]), nil)
	_, dim := Migrate(ctx, path, next, vectors.Matrix{Rows: 1, Cols: 2, Data: []float32{1, 2}}, nil)
	if d := message.Differs(missing, "missing-vectors", "400", id) + message.Differs(twice, "duplicate-id", id); d != "" {
		t.Error(d)
	}
	if !errors.Is(dim, model.ErrDim) {
		t.Errorf("vectors of another length: %v", dim)
	}
	after, err := os.ReadFile(path)
	ok(t, err)
	if left, _ := filepath.Glob(path + "*"); !bytes.Equal(before, after) || len(left) != 1 {
		t.Errorf("the old file changed, or something is left: %v", left)
	}

	done := 0
	fine(t)(Migrate(ctx, path, next, x, func(i, total int) { done = i }))
	if done != len(b.IDs) {
		t.Errorf("%d of %d items", done, len(b.IDs))
	}
	s = open(t, path, OpenOptions{})
	i := s.Info()
	if i.Bits != 100 || i.Fingerprint != next.Fingerprint() || modelOf(t, s).Fingerprint() != next.Fingerprint() || i.Note != "stays" || i.Items != len(b.IDs) {
		t.Errorf("%+v", i)
	}
	w := expected{}
	w.put(b)
	for r, id := range x.IDs {
		if it, there := w[index.Text(id)]; there {
			it.Code, err = next.EncodeRow(x.X.Row(r))
			ok(t, err)
			w[it.ID] = it
		}
	}
	w.has(t, s)
	_, err = Verify(ctx, path, nil)
	if !errors.Is(err, ErrLocked) {
		t.Errorf("verifying an index that is being written: %v", err)
	}
	ok(t, s.Close())
	if r, err := Verify(ctx, path, nil); err != nil || r.Bits != 100 || !r.HasModel {
		t.Errorf("%+v, %v", r, err)
	}
}

var update = flag.Bool("update", false, "write the golden file anew")

// TestGoldenFile opens an index of the first version, which must work forever.
func TestGoldenFile(t *testing.T) {
	const golden = "testdata/backcompat/v1.hgi"
	m := maker{rand.New(rand.NewPCG(100, 1)), 100}
	lsh := projection(4, 100, 1)
	b := m.batch(40)
	w := expected{}
	w.put(b)
	if *update {
		s, _ := create(t, Options{Model: lsh, Note: "golden"})
		ok(t, s.Upsert(ctx, b))
		ok(t, s.Compact(ctx))
		ok(t, os.MkdirAll(filepath.Dir(golden), 0o777))
		_ = os.Remove(golden)
		fine(t)(s.BackupFile(ctx, golden))
	}
	// Opening for reading only locks the file.
	s := open(t, golden, OpenOptions{ReadOnly: true})
	w.has(t, s)
	if i := s.Info(); i.Fingerprint != lsh.Fingerprint() || i.Note != "golden" || i.Writes != 1 {
		t.Errorf("%+v", i)
	}
	ok(t, s.Close())
	if _, err := Verify(ctx, golden, nil); err != nil {
		t.Error(err)
	}
}

// TestCreateWithItems: after a failure there is no index, or the old one.
func TestCreateWithItems(t *testing.T) {
	b := index.NewBatch(128)
	for i := range 3000 {
		b.Append(versioned(index.Int(int64(i*7919%3000)), i))
		b.Append(versioned(index.Text(fmt.Sprintf("item %d", i)), i))
	}
	w := expected{}
	w.put(b)
	s, path := create(t, Options{Bits: 128, Items: b})
	w.has(t, s)
	ok(t, s.Close())
	s = open(t, path, OpenOptions{})
	w.has(t, s)
	ok(t, s.Close())
	before, err := os.ReadFile(path)
	ok(t, err)
	twice := index.NewBatch(128)
	twice.Append(versioned(index.Int(1), 1))
	twice.Append(versioned(index.Int(1), 2))
	stopped, stop := context.WithCancel(ctx)
	stop()
	vacant := filepath.Join(t.TempDir(), "none.hgi")
	for _, to := range []string{path, vacant} {
		_, duplicate := Create(ctx, to, Options{Bits: 128, Items: twice, Replace: true})
		_, short := Create(ctx, to, Options{Bits: 128, Items: index.NewBatch(64), Replace: true})
		_, late := Create(stopped, to, Options{Bits: 128, Items: b, Replace: true})
		if duplicate == nil || short == nil || late == nil {
			t.Errorf("an index was made: %v, %v, %v", duplicate, short, late)
		}
	}
	if now, err := os.ReadFile(path); err != nil || !bytes.Equal(before, now) {
		t.Errorf("the old index was changed: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Dir(path) + "*/*"); len(left) > 1 {
		t.Errorf("left behind: %v", left)
	}
}

// TestCopiesArePrivate: those who cannot read an index cannot read what is made from it.
func TestCopiesArePrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no modes")
	}
	s, path := create(t, Options{Bits: 8})
	ok(t, os.Chmod(path, 0o600))
	dir := filepath.Dir(path)
	backup, restored := filepath.Join(dir, "backup"), filepath.Join(dir, "restored")
	fine(t)(s.BackupFile(ctx, backup))
	fine(t)(Restore(ctx, backup, restored))
	ok(t, s.Compact(ctx))
	ok(t, s.Close())
	replaced := filepath.Join(dir, "replaced")
	ok(t, os.WriteFile(replaced, []byte("no index"), 0o600))
	s, err := Create(ctx, replaced, Options{Bits: 8, Replace: true})
	ok(t, err)
	ok(t, s.Close())
	for _, p := range []string{path, backup, restored, replaced} {
		if info, err := os.Stat(p); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v, %v", filepath.Base(p), info.Mode(), err)
		}
	}
}
