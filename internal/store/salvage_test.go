package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"testing"
	"time"

	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
)

// large returns the bytes of an index whose tree has branches, with deleted items, and its items.
func large(t *testing.T) ([]byte, map[index.ID]index.Item) {
	s, path := create(t, Options{Model: projection(3, 8, 1), Index: index.Config{Tables: -1}})
	m := maker{rand.New(rand.NewPCG(2, 3)), 8}
	b := index.NewBatch(8)
	for i := range 4000 {
		id := index.Int(int64(i))
		if i%2 == 0 {
			id = index.Text(fmt.Sprintf("%0300d", i)) // few keys in a branch
		}
		it := m.item(id)
		it.Label += fmt.Sprintf("%0200d", i)
		b.Append(it)
	}
	ok(t, s.Add(ctx, b))
	_, err := s.Delete(ctx, b.IDs[100:200]...)
	ok(t, err)
	items := map[index.ID]index.Item{}
	for _, it := range itemsOf(t, s) {
		items[it.ID] = it
	}
	ok(t, s.Close())
	image, err := os.ReadFile(path)
	ok(t, err)
	return image, items
}

// salvaged returns what is recovered from an image.
func salvaged(t *testing.T, image []byte) (*Salvaged, map[index.ID]index.Item, error) {
	s, err := openSalvage(bytes.NewReader(image), int64(len(image)))
	if err != nil {
		return nil, nil, err
	}
	ok(t, s.read(ctx))
	x := index.New(s.bits, s.fingerprint, index.Config{Tables: -1})
	ok(t, x.Add(ctx, s.items))
	items := map[index.ID]index.Item{}
	for _, it := range snapshotItems(t, x.Snapshot()) {
		items[it.ID] = it
	}
	return &s.found, items, nil
}

// TestSalvage makes a new index of a damaged one.
func TestSalvage(t *testing.T) {
	image, want := large(t)
	dir := t.TempDir()
	from, to := filepath.Join(dir, "damaged.hgi"), filepath.Join(dir, "new.hgi")
	for id := range uint64(len(image) / pageSize) {
		if page := image[id*pageSize:]; id > 2 && kindOf(page) == leafPage && countOf(page) > 1 {
			clear(page[pageSize/2 : pageSize/2+100])
			break
		}
	}
	ok(t, os.WriteFile(from, image, 0o600))
	if _, err := Open(ctx, from, OpenOptions{}); !errors.Is(err, hamming.ErrDamaged) {
		t.Fatalf("the index is not damaged: %v", err)
	}
	r, err := Salvage(ctx, from, to, nil)
	ok(t, err)
	fine(t)(Verify(ctx, to, nil))
	s := open(t, to, OpenOptions{})
	if r.Items != s.Snapshot().Len() || r.Items+r.LostItems != len(want) || r.Items < len(want)-50 || r.LostItems == 0 {
		t.Errorf("%d items of %d, and the report says %+v", s.Snapshot().Len(), len(want), r)
	}
	if modelOf(t, s) == nil {
		t.Error("the model is lost")
	}
}

// TestSalvageEveryPage zeroes the pages of an index one at a time. Only what was on the page is lost: the items of a
// leaf, and nothing for a branch or the list of free pages. Nothing deleted comes back.
func TestSalvageEveryPage(t *testing.T) {
	image, want := large(t)
	c, err := scan(image, nil)
	ok(t, err)
	r, got, err := salvaged(t, image)
	if err != nil || !reflect.DeepEqual(got, want) || r.LostItems != 0 || len(r.Lost) != 0 || r.ModelLost || r.Older {
		t.Fatalf("an intact index: %+v, %v", r, err)
	}
	kinds := map[string]int{}
	step := 1 + int(c.pages.meta.high)/30
	for id := 2; id < int(c.pages.meta.high); id++ {
		page := image[id*pageSize : (id+1)*pageSize]
		kind := fmt.Sprint("kind ", kindOf(page))
		if kinds[kind]++; kindOf(page) == leafPage && id%step != 0 {
			continue
		}
		onPage := map[index.ID]bool{}
		if kindOf(page) == leafPage {
			onPage = idsOn(c, image, id)
		}
		cut := bytes.Clone(image)
		clear(cut[id*pageSize : (id+1)*pageSize])
		r, got, err := salvaged(t, cut)
		if err != nil {
			if kinds["heads"]++; kinds["heads"] > 3 { // only a page or two lead to the head
				t.Errorf("page %d, %s: %v", id, kind, err)
			}
			continue
		}
		lost := 0
		for key, it := range want {
			if g, there := got[key]; !there {
				if lost++; !onPage[key] {
					t.Fatalf("page %d, %s: item %v is lost and was not on the page: %+v", id, kind, key, r)
				}
			} else if !reflect.DeepEqual(g, it) {
				t.Fatalf("page %d: item %v is wrong", id, key)
			}
		}
		if len(got)+lost != len(want) {
			t.Fatalf("page %d, %s: %d items that were not there", id, kind, len(got)+lost-len(want))
		}
		if r.LostItems != lost || lost > 0 && len(r.Lost) == 0 {
			t.Errorf("page %d, %s: %d items are lost, and the report says %+v", id, kind, lost, r)
		}
	}
	if kinds[fmt.Sprint("kind ", branchPage)] < 3 {
		t.Errorf("too few branches for a test: %v", kinds)
	}
	t.Log(kinds)
}

// idsOn returns the ids of the blocks that lie on a page in whole or in part.
func idsOn(c *contents, image []byte, id int) map[index.ID]bool {
	ids := map[index.ID]bool{}
	b := &block{size: (c.bits + 7) / 8, words: hamming.NewCodes(0, c.bits)}
	page := image[id*pageSize:]
	for i := range int(countOf(page)) {
		if _, key, rest, size, err := element(page, i); err == nil && uint64(size) <= uint64(len(rest)) {
			if _, err := b.unseal(key, rest[:size]); err == nil {
				for _, id := range b.ids {
					ids[id] = true
				}
			}
		}
	}
	return ids
}

// TestSalvageOfAnything flips bytes, truncates and zeroes at random: everything recovered was there before.
func TestSalvageOfAnything(t *testing.T) {
	image, want := large(t)
	rng := rand.New(rand.NewPCG(9, 9))
	recovered, refused, lost := 0, 0, 0
	images := 30
	if os.Getenv("HASHGROVE_LONG") == "1" {
		images = 1000
	}
	for range images {
		cut := bytes.Clone(image)
		switch rng.IntN(3) {
		case 0:
			cut = cut[:rng.IntN(len(cut))]
		case 1:
			for range 1 + rng.IntN(30) {
				cut[rng.IntN(len(cut))] ^= 1 << rng.IntN(8)
			}
		case 2:
			at := rng.IntN(len(cut))
			clear(cut[at:min(len(cut), at+rng.IntN(100_000))])
		}
		r, got, err := salvaged(t, cut)
		if err != nil {
			refused++
			continue
		}
		recovered++
		lost += r.LostItems
		for id, it := range got {
			if !reflect.DeepEqual(want[id], it) {
				t.Fatalf("item %v was recovered and was not there so", id)
			}
		}
		if len(got) < len(want) && r.LostItems == 0 && !r.Older {
			t.Errorf("%d of %d items, and nothing is said to be lost", len(got), len(want))
		}
	}
	t.Logf("%d images recovered with %d items lost, %d refused", recovered, lost, refused)
	t.Logf("count: damaged files opened %d", images)
	if recovered < 10 || lost == 0 {
		t.Error("too few were recovered for a test")
	}
}

// TestSalvageMistakes: nothing is overwritten, no index in use is read, and another model is rejected.
func TestSalvageMistakes(t *testing.T) {
	s, path := create(t, Options{Model: projection(3, 8, 1)})
	to := filepath.Join(t.TempDir(), "new.hgi")
	if _, err := Salvage(ctx, path, to, nil); err == nil && runtime.GOOS != "windows" {
		t.Error("an index that is open to be written was read")
	}
	ok(t, s.Close())
	if _, err := Salvage(ctx, path, path, nil); err == nil {
		t.Error("an index was overwritten")
	}
	stopped, stop := context.WithCancel(ctx)
	stop()
	if _, err := Salvage(stopped, path, to, nil); err == nil {
		t.Error("a salvage that was stopped")
	}
	if _, err := Salvage(ctx, filepath.Join(t.TempDir(), "none"), to, nil); err == nil {
		t.Error("no file")
	}
}

// TestSalvageWithoutRoot: if no tree leads to the items any more, all are recovered from pages that are not free.
func TestSalvageWithoutRoot(t *testing.T) {
	image, want := large(t)
	found := false
	for at := 2 * pageSize; at < len(image); at += pageSize {
		page := image[at : at+pageSize]
		for i := range int(countOf(page)) {
			if kindOf(page) != leafPage {
				break
			}
			if flags, key, _, _, err := element(page, i); err == nil && flags != 0 && bytes.Equal(key, itemBucket) {
				binary.LittleEndian.PutUint32(page[pageHeader+i*pageElement+12:], 1) // the length of what leads to them
				found = true
			}
		}
	}
	r, got, err := salvaged(t, image)
	if err != nil || !found || !reflect.DeepEqual(got, want) || r.LostItems != 0 || len(r.Lost) == 0 {
		t.Errorf("%d items of %d: %+v, %v", len(got), len(want), r, err)
	}
}

// FuzzSalvage recovers what it can of changed files: no crash, and items that an index takes.
func FuzzSalvage(f *testing.F) {
	file := sample(f)
	f.Add([]byte{}, uint32(0))
	f.Add([]byte{}, uint32(len(file)/2))
	for i := range len(file) / pageSize {
		f.Add([]byte{byte(i), byte(i >> 8), 8, 0, 1}, uint32(len(file)))
		f.Add([]byte{byte(i), byte(i >> 8), 0, 1, 77, byte(i), 0, 10, 0, 9}, uint32(len(file)))
	}
	f.Fuzz(func(t *testing.T, b []byte, length uint32) {
		watch := time.AfterFunc(patience, func() { panic("it hangs") })
		defer watch.Stop()
		changed := bytes.Clone(file)
		for ; len(b) >= 5; b = b[5:] { // page, offset, value
			at := int(binary.LittleEndian.Uint16(b))%(len(changed)/pageSize)*pageSize + int(binary.LittleEndian.Uint16(b[2:]))%pageSize
			changed[at] = b[4]
		}
		_, _, _ = salvaged(t, changed[:min(int(length), len(changed))])
	})
}
