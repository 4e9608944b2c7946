package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/message"
	"hashgrove/internal/model"
	"hashgrove/internal/testkit/needs"
)

// sample returns an index file with a tree of several pages, free pages, a model, labels and texts.
func sample(t testing.TB) []byte {
	t.Helper()
	s, path := create(t, Options{Model: projection(3, 8, 1), Note: "sample", Index: index.Config{Tables: -1}})
	m := maker{rand.New(rand.NewPCG(2, 3)), 8}
	b := index.NewBatch(8)
	for i := range 40 {
		id := index.Int(int64(i))
		if i%2 == 0 {
			id = index.Text(strings.Repeat("photo ", 30) + fmt.Sprint(i))
		}
		it := m.item(id)
		it.Label += strings.Repeat("l", 200)
		b.Append(it)
	}
	ok(t, s.Add(ctx, b))
	ok(t, s.Compact(ctx))
	_, err := s.Delete(ctx, b.IDs[5], b.IDs[11])
	ok(t, err)
	ok(t, s.Close())
	return live(t, path)
}

// live returns the bytes of a file without what bbolt allocated in advance.
func live(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	ok(t, err)
	c, err := scan(b, nil)
	ok(t, err)
	if c.pages.free == 0 || c.blocks < 8 || c.pages.meta.high < 9 {
		t.Fatalf("%d free of %d pages and %d blocks are too few for a test", c.pages.free, c.pages.meta.high, c.blocks)
	}
	return b[:c.pages.meta.high*pageSize]
}

// scan checks a file in memory.
func scan(b []byte, visit visitBlock) (*contents, error) {
	c, err := openContents(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return nil, err
	}
	return c, c.check(ctx, visit)
}

// answer is everything that scan returns about a file.
type answer struct {
	Head  head
	State state
	Print hamming.Fingerprint
	Items []index.Item
}

func answerOf(b []byte) (*answer, error) {
	var a answer
	var texts records
	c, err := scan(b, func(b *block) error {
		if err := b.unpack(); err != nil {
			return err
		}
		for i, id := range b.ids {
			it := index.Item{ID: id, Code: slices.Clone(b.words.Row(i))}
			if err := texts.parse(b.record(i), &it); err != nil {
				return err
			}
			a.Items = append(a.Items, it)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	a.Head, a.State = c.head, c.state
	if c.model != nil {
		a.Print = c.model.Fingerprint()
	}
	return &a, nil
}

// TestFlippedBytes changes every byte of a file: the change is noticed, or makes no difference.
func TestFlippedBytes(t *testing.T) {
	file := sample(t)
	want, err := answerOf(file)
	ok(t, err)
	step := 1
	if !needs.Full() {
		step = 53
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for i := 0; i < len(file); i += step {
		b := slices.Clone(file)
		b[i] ^= byte(1 + rng.IntN(255))
		have, err := answerOf(b)
		switch {
		case err == nil && !reflect.DeepEqual(have, want):
			t.Fatalf("byte %d of page %d gives another answer", i%pageSize, i/pageSize)
		case err != nil && !errors.Is(err, hamming.ErrDamaged) && !errors.Is(err, hamming.ErrKind) && !errors.Is(err, hamming.ErrVersion):
			t.Fatalf("byte %d: %v", i, err)
		}
	}
}

// TestStalePages puts pages of earlier states into a file: each is sound and has the same ids, but they do not belong
// together.
func TestStalePages(t *testing.T) {
	s, path := create(t, Options{Bits: 64})
	m := maker{rand.New(rand.NewPCG(8, 3)), 64}
	b := index.NewBatch(64)
	for i := range 300 {
		b.Append(index.Item{ID: index.Int(int64(i)), Code: []uint64{m.Uint64()}})
	}
	var states [][]byte
	for range 8 { // bbolt reuses pages freed by the write before last
		for i := range b.Codes.Data {
			b.Codes.Data[i] = m.Uint64()
		}
		ok(t, s.Upsert(ctx, b))
		state, err := os.ReadFile(path)
		ok(t, err)
		states = append(states, state)
	}
	tried, counted := 0, 0
	for i, state := range states {
		want, err := answerOf(state)
		ok(t, err)
		for _, earlier := range states[:i] {
			for at := 2 * pageSize; at+pageSize <= min(len(state), len(earlier)); at += pageSize {
				if bytes.Equal(state[at:at+pageSize], earlier[at:at+pageSize]) {
					continue
				}
				tried++
				mixed := slices.Clone(state)
				copy(mixed[at:at+pageSize], earlier[at:])
				have, err := answerOf(mixed)
				if err == nil && !reflect.DeepEqual(have, want) {
					t.Errorf("state %d with an earlier page %d gives another answer", i, at/pageSize)
				}
				if message.Is(err, "wrong-totals") {
					counted++
				}
			}
		}
	}
	if tried < 20 || counted == 0 {
		t.Errorf("%d pages differ, and only the sum of the checksums told %d of them", tried, counted)
	}
}

// TestReplacedFile checks that a lock on a replaced file does not count.
func TestReplacedFile(t *testing.T) {
	s, path := create(t, Options{Bits: 8})
	ok(t, s.Compact(ctx))
	if !s.file.isAt(path) {
		t.Error("the file is not the one at its path")
	}
	if runtime.GOOS == "windows" {
		return // open files cannot be replaced
	}
	fine(t)(s.BackupFile(ctx, path+"2"))
	ok(t, os.Rename(path+"2", path))
	if s.file.isAt(path) {
		t.Error("another file is at the path")
	}
	b := index.NewBatch(8)
	b.Append(index.Item{ID: index.Int(1), Code: []uint64{0}})
	if err := s.Add(ctx, b); !errors.Is(err, ErrReadOnly) {
		t.Errorf("writing to a file that nobody will find: %v", err)
	}
	ok(t, os.Remove(path))
	if s.file.isAt(path) {
		t.Error("no file is at the path")
	}
}

// TestCutFiles truncates a file.
func TestCutFiles(t *testing.T) {
	file := sample(t)
	for n := 0; n < len(file); n += 512 {
		if _, err := answerOf(file[:n]); !errors.Is(err, hamming.ErrDamaged) && !errors.Is(err, hamming.ErrKind) {
			t.Fatalf("%d of %d bytes: %v", n, len(file), err)
		}
	}
}

// TestOtherFiles opens files that are not indexes, or come from the future.
func TestOtherFiles(t *testing.T) {
	dir := t.TempDir()
	put := func(name string, b []byte) string {
		path := filepath.Join(dir, name)
		ok(t, os.WriteFile(path, b, 0o600))
		return path
	}
	database := func(path string, size int, edit func(tx *bolt.Tx) error) string {
		db, err := bolt.Open(path, 0o600, &bolt.Options{PageSize: size})
		ok(t, err)
		ok(t, db.Update(edit))
		ok(t, db.Close())
		return path
	}
	bucket := func(tx *bolt.Tx) error { _, err := tx.CreateBucket([]byte("x")); return err }
	var modelFile bytes.Buffer
	ok(t, model.Write(&modelFile, projection(2000, 8, 1)))
	s, path := create(t, Options{Bits: 8})
	ok(t, s.Close())
	database(path, pageSize, func(tx *bolt.Tx) error {
		v := head{bits: 8}.value()
		binary.LittleEndian.PutUint32(v[4:], fileVersion+1)
		seal(headKey, v)
		return tx.Bucket(infoBucket).Put(headKey, v)
	})
	for _, c := range []struct {
		path string
		want error
		fact string
	}{
		{put("empty", nil), hamming.ErrKind, ""},
		{put("text", bytes.Repeat([]byte("hello\n"), 5000)), hamming.ErrKind, ""},
		{put("ours", modelFile.Bytes()), hamming.ErrKind, "model"},
		{database(filepath.Join(dir, "bolt"), pageSize, bucket), hamming.ErrKind, ""},
		{database(filepath.Join(dir, "large"), 8192, bucket), hamming.ErrKind, "8192"},
		{path, hamming.ErrVersion, fmt.Sprint(fileVersion + 1)},
		{filepath.Join(dir, "nowhere"), os.ErrNotExist, ""},
	} {
		_, err := Open(ctx, c.path, OpenOptions{})
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.path) || !strings.Contains(err.Error(), c.fact) {
			t.Errorf("%s: %v", c.path, err)
		}
		if _, err := Verify(ctx, c.path, nil); err == nil {
			t.Errorf("%s passes", c.path)
		}
	}
	if _, err := Open(ctx, dir, OpenOptions{}); !message.Is(err, "not-regular") {
		t.Errorf("a folder: %v", err)
	}
}

// TestDamageWhileOpen changes a block behind the back of an open store.
func TestDamageWhileOpen(t *testing.T) {
	s, path := create(t, Options{Bits: 64})
	b := index.NewBatch(64)
	for i := range 1000 {
		b.Append(index.Item{ID: index.Int(int64(i)), Code: []uint64{uint64(i)}, Label: "shirt"})
	}
	ok(t, s.Add(ctx, b))
	all, err := os.ReadFile(path)
	ok(t, err)
	f, err := os.OpenFile(path, os.O_RDWR, 0) // in place: the store has it mapped
	ok(t, err)
	defer f.Close()
	_, err = f.WriteAt(bytes.ReplaceAll(all, []byte("shirt"), []byte("Shirt")), 0)
	ok(t, err)
	if _, err := s.Delete(ctx, index.Int(500)); !errors.Is(err, hamming.ErrDamaged) {
		t.Errorf("writing to a damaged block: %v", err)
	}
	if it, there := s.Snapshot().Get(index.Int(500)); !there || it.Label != "shirt" {
		t.Error("reading does not go on")
	}
	if _, err := s.BackupFile(ctx, path+".copy"); !errors.Is(err, hamming.ErrDamaged) {
		t.Errorf("a backup of a damaged file: %v", err)
	}
	if runtime.GOOS == "windows" {
		return // mapped files cannot be truncated
	}
	// After truncation, the mapping has unreadable pages.
	ok(t, f.Truncate(2*pageSize))
	if _, err := s.Delete(ctx, index.Int(5)); !errors.Is(err, hamming.ErrDamaged) {
		t.Errorf("writing to a file that was cut off: %v", err)
	}
	if s.Snapshot().Len() != 1000 || s.Info().Degraded == "" {
		t.Error("the index should be there to be read only")
	}
}

// reseal corrects the checksums of the headers.
func reseal(b []byte) {
	for at := pageHeader; at+metaBytes <= min(len(b), 2*pageSize); at += pageSize {
		h := fnv.New64a()
		h.Write(b[at : at+metaBytes-8])
		binary.LittleEndian.PutUint64(b[at+metaBytes-8:], h.Sum64())
	}
}

// FuzzOpen opens changed files, and writes to those that open. An error is right, a crash is not.
func FuzzOpen(f *testing.F) {
	file := sample(f)
	f.Add([]byte{}, true)
	f.Add([]byte{0, 0, 32, 0, 9}, true)
	f.Add(file[:4*pageSize], false)
	le := binary.LittleEndian
	for i := range len(file) / pageSize { // counts, kinds, first elements
		for _, at := range []int{0, 8, 10, 12, 16, 20, 24, 28} {
			f.Add([]byte{byte(i), byte(i >> 8), byte(at), 0, 1}, true)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, patch bool) {
		if patch { // page, offset, value: changes to a sound file reach deeper than random bytes
			changed := slices.Clone(file)
			for ; len(b) >= 5; b = b[5:] {
				at := int(le.Uint16(b))%(len(changed)/pageSize)*pageSize + int(le.Uint16(b[2:]))%pageSize
				changed[at] = b[4]
			}
			reseal(changed)
			b = changed
		}
		watch := time.AfterFunc(patience, func() { panic("it hangs") })
		defer watch.Stop()
		path := filepath.Join(t.TempDir(), "x")
		ok(t, os.WriteFile(path, b, 0o600))
		_, verr := Verify(ctx, path, nil)
		s, err := Open(ctx, path, OpenOptions{Index: index.Config{Tables: -1}})
		if err != nil {
			if verr == nil {
				t.Fatalf("verified, but: %v", err)
			}
			return
		}
		defer s.Close()
		if verr != nil {
			t.Fatalf("it opens, but: %v", verr)
		}
		n := s.Snapshot().Len()
		x := index.NewBatch(s.Info().Bits)
		x.Append(index.Item{ID: index.Text("new"), Code: make([]uint64, x.Codes.Words)})
		ok(t, s.Upsert(ctx, x))
		_, err = s.Delete(ctx, x.IDs...)
		ok(t, err)
		ok(t, s.Compact(ctx))
		ok(t, s.Close())
		if r, err := Verify(ctx, path, nil); err != nil || r.Items > n {
			t.Fatalf("after writing: %+v, %v", r, err)
		}
	})
}

// FuzzBlock parses blocks and makes them again.
func FuzzBlock(f *testing.F) {
	file := sample(f)
	_, err := scan(file, func(b *block) error {
		p := packer{limit: 1 << 20, put: func(key, value []byte, _ uint32) error { f.Add(key, value[4:], uint16(b.size)); return nil }}
		for i, id := range b.ids {
			ok(f, p.add(id, b.code(i), b.record(i)))
		}
		return p.flush()
	})
	ok(f, err)
	f.Fuzz(func(t *testing.T, key, payload []byte, size uint16) {
		b := block{size: int(size)%512 + 1}
		if b.parse(key, payload) != nil {
			return
		}
		if !slices.IsSortedFunc(b.ids, index.ID.Compare) || len(slices.Compact(slices.Clone(b.ids))) != len(b.ids) {
			t.Fatalf("ids %v are not in order", b.ids)
		}
		var texts records
		p := packer{limit: 1 << 30, put: func(k, value []byte, _ uint32) error {
			again := block{size: b.size}
			ok(t, again.parse(k, value[4:]))
			if !bytes.Equal(k, key) || !slices.Equal(again.ids, b.ids) || !bytes.Equal(again.codes, b.codes) {
				t.Fatal("it does not come back")
			}
			for i := range b.ids {
				if !bytes.Equal(again.record(i), b.record(i)) {
					t.Fatal("a record does not come back")
				}
			}
			return nil
		}}
		for i, id := range b.ids {
			ok(t, p.add(id, b.code(i), b.record(i)))
			it := index.Item{ID: id}
			_ = texts.parse(b.record(i), &it)
		}
		ok(t, p.flush())
	})
}

// FuzzRecord parses records, and encodes again those that the index would accept.
func FuzzRecord(f *testing.F) {
	m := maker{rand.New(rand.NewPCG(4, 4)), 8}
	b := m.batch(20)
	for i := range b.IDs {
		f.Add(appendRecord(nil, b.Item(i)))
	}
	f.Fuzz(func(t *testing.T, r []byte) {
		it := index.Item{ID: index.Int(1), Code: []uint64{0}}
		var texts records
		if texts.parse(r, &it) != nil {
			return
		}
		b := index.NewBatch(8)
		b.Append(it)
		refused := index.New(8, hamming.Fingerprint{}, index.Config{}).Add(context.Background(), b)
		if err := b.Check(8); (err == nil) != (refused == nil) {
			t.Fatalf("the batch says %v, the index says %v", err, refused)
		}
		if refused != nil {
			return
		}
		made := appendRecord(nil, b.Item(0))
		again := index.Item{ID: it.ID, Code: it.Code}
		if ok(t, texts.parse(made, &again)); !reflect.DeepEqual(it, again) {
			t.Fatalf("%+v came back as %+v", it, again)
		}
	})
}
