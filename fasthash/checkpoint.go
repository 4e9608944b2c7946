package fasthash

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"hashgrove/internal/section"
	"hashgrove/model"
)

// A checkpoint is a folder with one small file per finished bit (docs/formats.md). Every file is written under a
// temporary name, synced and renamed, so a crash loses the bit in the making and no other. Each file carries the
// identity of the run: options, data, version. Nothing else is needed to go on: the bits are replayed on the
// training rows, and every bit draws its random numbers from its own stream.

const (
	checkpointVersion = 1 // version 1: run, bit, function
	bitSuffix         = ".bit"

	maxIdentity = 1 << 20
	maxBitStat  = 1 << 16
	maxFunction = 1 << 28
)

type checkpoint struct {
	folder   string
	identity []byte
}

// openCheckpoint makes the folder, or finds what an earlier run left in it.
func openCheckpoint(folder string, identity []byte, resume, restart bool) (*checkpoint, error) {
	c := &checkpoint{folder, identity}
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return nil, err
	}
	bits, half, err := c.files()
	if err != nil {
		return nil, err
	}
	if err := c.remove(half); err != nil {
		return nil, err
	}
	if len(bits) > 0 && restart {
		return c, c.remove(bits)
	}
	if len(bits) > 0 && !resume {
		return nil, fmt.Errorf("%w: %s holds %d bits", ErrCheckpoint, folder, len(bits))
	}
	return c, nil
}

// files lists the bit files in order, and those half written when a run was killed.
func (c *checkpoint) files() (bits, half []string, err error) {
	entries, err := os.ReadDir(c.folder)
	for _, e := range entries {
		switch name := e.Name(); {
		case strings.HasSuffix(name, bitSuffix):
			bits = append(bits, name)
		case strings.Contains(name, bitSuffix+".") && strings.HasSuffix(name, ".tmp"):
			half = append(half, name)
		}
	}
	slices.Sort(bits)
	return bits, half, err
}

func (c *checkpoint) path(bit int) string {
	return filepath.Join(c.folder, fmt.Sprintf("%04d%s", bit, bitSuffix))
}

func (c *checkpoint) remove(names []string) error {
	for _, name := range names {
		if err := os.Remove(filepath.Join(c.folder, name)); err != nil {
			return err
		}
	}
	return nil
}

// removeCheckpoint removes a folder that holds nothing but bit files.
func removeCheckpoint(folder string) error {
	c := &checkpoint{folder: folder}
	bits, half, err := c.files()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = c.remove(append(bits, half...))
	}
	if err == nil {
		err = os.Remove(folder)
	}
	return err
}

// save keeps a finished bit.
func (c *checkpoint) save(bit int, f model.Function, stat model.BitStat) error {
	text, err := json.Marshal(stat)
	if err != nil {
		return fmt.Errorf("bit %d: %w", bit, err)
	}
	return section.WriteFile(c.path(bit), func(w io.Writer) error {
		s := section.NewWriter(w, section.Checkpoint, checkpointVersion)
		_ = s.Section("run.", c.identity) // the writer keeps its first error for Close
		_ = s.Section("bit.", append(binary.LittleEndian.AppendUint32(nil, uint32(bit)), text...))
		_ = s.Section("func", model.AppendFunction(nil, f))
		return s.Close()
	})
}

// load returns the bits from the given one on, up to the first that is missing or damaged. Damaged ones and those
// after them are removed and counted: they are learned again. Bits of another run are an error.
func (c *checkpoint) load(dim, from, to int) (done []model.Function, stats []model.BitStat, dropped int, err error) {
	for bit := from; bit <= to; bit++ {
		f, stat, err := c.read(bit, dim)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, section.ErrDamaged) || errors.Is(err, section.ErrKind) {
			break
		}
		if err != nil {
			return nil, nil, 0, err
		}
		done, stats = append(done, f), append(stats, stat)
	}
	bits, _, err := c.files()
	if err != nil {
		return nil, nil, 0, err
	}
	stale := slices.DeleteFunc(bits, func(name string) bool {
		return name >= filepath.Base(c.path(from)) && name < filepath.Base(c.path(from+len(done)))
	})
	return done, stats, len(stale), c.remove(stale)
}

// read reads the file of one bit.
func (c *checkpoint) read(bit, dim int) (f model.Function, stat model.BitStat, err error) {
	path := c.path(bit)
	file, err := os.Open(path)
	if err != nil {
		return nil, stat, err
	}
	defer file.Close()
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s: %w", path, err)
		}
	}()
	r, err := section.NewReader(file, section.Checkpoint, checkpointVersion)
	if err != nil {
		return nil, stat, err
	}
	identity, err := r.Expect("run.", maxIdentity)
	if err != nil {
		return nil, stat, err
	}
	if !bytes.Equal(identity, c.identity) {
		return nil, stat, fmt.Errorf("the checkpoint is of another training (%s); repeat its options and data, or restart",
			difference(identity, c.identity))
	}
	head, err := r.Expect("bit.", maxBitStat)
	if err != nil {
		return nil, stat, err
	}
	if len(head) < 4 || binary.LittleEndian.Uint32(head) != uint32(bit) || json.Unmarshal(head[4:], &stat) != nil {
		return nil, stat, r.Damaged("it does not describe bit %d", bit)
	}
	b, err := r.Expect("func", maxFunction)
	if err != nil {
		return nil, stat, err
	}
	if f, err = model.ParseFunction(b); err == nil {
		err = f.Check(dim)
	}
	if err != nil {
		return nil, stat, r.Damaged("%v", err)
	}
	return f, stat, r.End()
}

// difference names the options in which two identities differ.
func difference(a, b []byte) string {
	var x, y map[string]any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return "it cannot be read"
	}
	var names []string
	differing("", x, y, &names)
	slices.Sort(names)
	if len(names) == 0 {
		return "in nothing that is known"
	}
	return "other " + strings.Join(names, ", ")
}

func differing(prefix string, x, y map[string]any, names *[]string) {
	either := map[string]any{}
	maps.Copy(either, x)
	maps.Copy(either, y)
	for k := range either {
		inner, ok := x[k].(map[string]any)
		other, ok2 := y[k].(map[string]any)
		if ok && ok2 {
			differing(prefix+k+".", inner, other, names)
		} else if !reflect.DeepEqual(x[k], y[k]) {
			*names = append(*names, strings.TrimPrefix(prefix+k, "options."))
		}
	}
}
