package server

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"

	"hashgrove/internal/index"
	"hashgrove/internal/section"
)

// albumHead begins a file of kept thumbnails. Entries follow: the id in the data and the thumbnail, each after its
// length, and a checksum. An entry without a thumbnail is a picture that belonged to no item. The last
// one has an empty id.
const albumHead = "hashgrove album 1\n"

// albumEnd is the end of the names of such files.
const albumEnd = ".album"

// albumKey names the thumbnails of some data: where they are, and how the files are now.
type albumKey struct{ place, state string }

// keyOf looks at all files of the data: their paths, sizes and times of modification.
func keyOf(paths []string, id string) (k albumKey, err error) {
	place, state := sha256.New(), sha256.New()
	fmt.Fprintf(place, "%q %d", id, albumSize)
	for _, p := range paths {
		full, err := filepath.Abs(p)
		if err != nil {
			return k, err
		}
		fmt.Fprintf(place, " %q %q", p, full) // ids of pictures begin with the path as it is given
		err = filepath.WalkDir(p, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			info, err := os.Stat(name) // of what a link leads to
			if errors.Is(err, fs.ErrNotExist) {
				fmt.Fprintf(state, "%q leads nowhere\n", name)
				return nil
			}
			if err == nil {
				fmt.Fprintf(state, "%q %d %d\n", name, info.Size(), info.ModTime().UnixNano())
			}
			return err
		})
		if err != nil {
			return k, err
		}
	}
	return albumKey{hex.EncodeToString(place.Sum(nil)[:16]), hex.EncodeToString(state.Sum(nil)[:16])}, nil
}

func (k albumKey) file(folder string) string {
	return filepath.Join(folder, k.place+"-"+k.state+albumEnd)
}

// keep adds a picture to the file for the next start; b is nil if it belongs to no item.
func (a *album) keep(id index.ID, b []byte) {
	if a.kept == nil {
		return
	}
	entry := binary.AppendUvarint(nil, uint64(len(id.String())))
	entry = append(entry, id.String()...)
	entry = binary.AppendUvarint(entry, uint64(len(b)))
	entry = append(entry, b...)
	entry = binary.LittleEndian.AppendUint32(entry, crc32.ChecksumIEEE(entry))
	if _, err := a.kept.Write(entry); err != nil { // the disk may be full: pictures are shown without
		a.kept.Abort()
		a.kept = nil
	}
}

// finishKept gives the kept thumbnails their name, unless the data changed meanwhile, and removes those of earlier
// data.
func (a *album) finishKept() error {
	if a.kept == nil {
		return nil
	}
	f := a.kept
	a.kept = nil
	defer f.Abort() // nothing after Commit
	if now, err := keyOf(a.paths, a.id); err != nil || now != a.key {
		return err
	}
	if _, err := f.Write([]byte{0}); err != nil {
		return err
	}
	if err := f.Commit(); err != nil {
		return err
	}
	entries, err := os.ReadDir(a.cache)
	for _, e := range entries {
		old := filepath.Join(a.cache, e.Name())
		if strings.HasPrefix(e.Name(), a.key.place+"-") && strings.HasSuffix(old, albumEnd) && old != a.key.file(a.cache) {
			_ = os.Remove(old)
		}
	}
	return err
}

// load takes the thumbnails that an earlier start kept. It reports false if there are none for the data as they are, or
// too few for the items; then nothing has changed.
func (a *album) load(x *index.Snapshot) bool {
	f, err := os.Open(a.key.file(a.cache))
	if err != nil {
		return false
	}
	at, err := readAlbum(f, x, a.paths)
	if err != nil || len(at) == 0 {
		_ = f.Close()
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.file == nil { // closed meanwhile
		_ = f.Close()
		return true
	}
	name := a.file.Name()
	_ = a.file.Close()
	_ = os.Remove(name)
	a.file, a.at, a.loaded = f, at, true
	return true
}

var errAlbum = errors.New("the kept pictures are damaged, or of fewer items")

// readAlbum finds the thumbnails of items in a file, and checks all of it.
func readAlbum(f *os.File, x *index.Snapshot, paths []string) (map[index.ID]span, error) {
	in := &albumReader{in: bufio.NewReaderSize(f, 1<<18)}
	if string(in.take(uint64(len(albumHead)))) != albumHead {
		return nil, errAlbum
	}
	all := map[index.ID]span{}
	for in.err == nil {
		in.sum = 0
		text := string(in.take(in.number()))
		if text == "" {
			if _, err := in.in.ReadByte(); in.err != nil || !errors.Is(err, io.EOF) {
				return nil, errAlbum
			}
			return all, nil
		}
		n := in.number()
		from := in.at
		in.take(n)
		sum := in.sum
		last := in.take(4)
		id, err := index.ParseID(text)
		if in.err != nil || err != nil || binary.LittleEndian.Uint32(last) != sum {
			return nil, errAlbum
		}
		known, is := knownID(x, id, paths...)
		switch {
		case is && n == 0: // the item came later
			return nil, errAlbum
		case is:
			all[known] = span{from, int32(n)}
		}
	}
	return nil, errAlbum
}

// albumReader reads entries and sums them up.
type albumReader struct {
	in  *bufio.Reader
	at  int64
	sum uint32
	err error
}

// mostKept is the largest length of an id or a thumbnail; no file can ask for more memory.
const mostKept = 16 << 20

func (r *albumReader) take(n uint64) []byte {
	if r.err != nil || n > mostKept || n > math.MaxInt32 {
		r.err = errAlbum
		return make([]byte, 4)
	}
	b := make([]byte, n)
	_, r.err = io.ReadFull(r.in, b)
	r.at += int64(n)
	r.sum = crc32.Update(r.sum, crc32.IEEETable, b)
	return b
}

func (r *albumReader) number() (n uint64) {
	for shift := 0; shift < 63; shift += 7 {
		b := r.take(1)
		n |= uint64(b[0]&0x7f) << shift
		if b[0] < 0x80 || r.err != nil {
			return n
		}
	}
	r.err = errAlbum
	return 0
}

// startKeeping opens the file for the next start. Without a folder that can be written, nothing is kept.
func (a *album) startKeeping() error {
	if err := os.MkdirAll(a.cache, 0o700); err != nil {
		return err
	}
	f, err := section.Create(a.key.file(a.cache))
	if err != nil {
		return err
	}
	if _, err := io.WriteString(f, albumHead); err != nil {
		f.Abort()
		return err
	}
	a.kept = f
	return nil
}
