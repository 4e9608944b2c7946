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

	"hashgrove/internal/fileio"
	"hashgrove/internal/model"
	"hashgrove/internal/vectors"
)

// A checkpoint is a folder with one small file per finished bit (docs/formats.md). Every file is written under a
// temporary name, synced and renamed, so a crash loses only the bit in progress. Each file carries the identity of the
// run: options, data, version. That is enough to continue: the bits are replayed on the training rows, and every bit
// draws its random numbers from its own stream.

const (
	checkpointVersion = 1
	bitSuffix         = ".bit"

	maxIdentity = 1 << 20
	maxBitStat  = 1 << 16
	maxFunction = 1 << 28
)

type checkpoint struct {
	folder   string
	identity []byte
	release  func()
}

// lockFile exists in a checkpoint's folder while a training uses it. One left behind by a killed process does no harm.
const lockFile = "lock"

// openCheckpoint makes the folder, or finds what an earlier run left in it, and locks it, so that two trainings with
// the same output do not destroy each other's bits.
func openCheckpoint(t *training) (_ *checkpoint, err error) {
	folder := t.Checkpoint
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return nil, err
	}
	release, err := fileio.Lock(filepath.Join(folder, lockFile))
	if errors.Is(err, fileio.ErrLocked) {
		err = fmt.Errorf("%s: another training with the same output is running: wait for it, or name another output", folder)
	}
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			release()
		}
	}()
	c := &checkpoint{folder, t.identity(), release}
	// The folder's name must survive a power cut for the bits in it to do so.
	if err := fileio.SyncFolder(filepath.Dir(folder)); err != nil {
		return nil, err
	}
	bits, half, err := c.files()
	if err != nil {
		return nil, err
	}
	if t.Restart {
		half, bits = append(half, bits...), nil
	}
	if err := c.remove(half); err != nil {
		return nil, err
	}
	if len(bits) > 0 && !t.Resume {
		return nil, fmt.Errorf("%w: %s holds %d bits", ErrCheckpoint, folder, len(bits))
	}
	return c, nil
}

// files lists the bit files in order, and the half-written ones of a killed run.
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

// removeCheckpoint removes a folder that holds only bit files, unless another training is using it by now.
func removeCheckpoint(folder string) error {
	lock := filepath.Join(folder, lockFile)
	release, err := fileio.Lock(lock)
	if errors.Is(err, fileio.ErrLocked) || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer release()
	c := &checkpoint{folder: folder}
	bits, half, err := c.files()
	if err == nil {
		err = c.remove(append(bits, half...))
	}
	if err != nil {
		return err
	}
	if os.Remove(lock) != nil { // Windows cannot remove open files
		release()
		_ = os.Remove(lock)
	}
	return os.Remove(folder)
}

// save writes a finished bit.
func (c *checkpoint) save(bit Bit) error {
	text, err := json.Marshal(bit.Stat)
	if err != nil {
		return fmt.Errorf("bit %d: %w", bit.Bit, err)
	}
	return fileio.WriteFile(c.path(bit.Bit), func(w io.Writer) error {
		s := fileio.NewWriter(w, fileio.Checkpoint, checkpointVersion)
		_ = s.Section("run.", c.identity) // the writer keeps its first error for Close
		_ = s.Section("bit.", append(binary.LittleEndian.AppendUint32(nil, uint32(bit.Bit)), text...))
		_ = s.Section("func", model.AppendFunction(nil, bit.Function))
		return s.Close()
	})
}

// load returns the bits from the given one up to the first that is missing or damaged. It removes and counts damaged
// bits and those after them, which are learned again. Bits of another run are an error.
func (c *checkpoint) load(x *vectors.Columns, from, to int) (done []Bit, dropped int, err error) {
	for k := from; k <= to; k++ {
		bit, err := c.read(k, x)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fileio.ErrDamaged) || errors.Is(err, fileio.ErrKind) {
			break
		}
		if err != nil {
			return nil, 0, err
		}
		done = append(done, bit)
	}
	bits, _, err := c.files()
	if err != nil {
		return nil, 0, err
	}
	stale := slices.DeleteFunc(bits, func(name string) bool {
		return name >= filepath.Base(c.path(from)) && name < filepath.Base(c.path(from+len(done)))
	})
	return done, len(stale), c.remove(stale)
}

// read reads the file of one bit.
func (c *checkpoint) read(number int, x *vectors.Columns) (bit Bit, err error) {
	path := c.path(number)
	file, err := os.Open(path)
	if err != nil {
		return bit, err
	}
	defer file.Close()
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s: %w", path, err)
		}
	}()
	r, err := fileio.NewReader(file, fileio.Checkpoint, checkpointVersion)
	if err != nil {
		return bit, err
	}
	identity, err := r.Expect("run.", maxIdentity)
	if err != nil {
		return bit, err
	}
	if !bytes.Equal(identity, c.identity) {
		if difference(identity, c.identity) == "other bits" {
			return bit, ErrOtherBits
		}
		return bit, fmt.Errorf("the checkpoint is of another training (%s); repeat its options and data, or restart",
			difference(identity, c.identity))
	}
	bit.Bit = number
	err = c.readBit(r, &bit, x)
	return bit, err
}

// readBit reads what follows the identity.
func (c *checkpoint) readBit(r *fileio.Reader, bit *Bit, x *vectors.Columns) error {
	head, err := r.Expect("bit.", maxBitStat)
	if err != nil {
		return err
	}
	if len(head) < 4 || binary.LittleEndian.Uint32(head) != uint32(bit.Bit) || json.Unmarshal(head[4:], &bit.Stat) != nil {
		return r.Damaged("it does not describe bit %d", bit.Bit)
	}
	b, err := r.Expect("func", maxFunction)
	if err != nil {
		return err
	}
	if bit.Function, err = model.ParseFunction(b); err == nil {
		err = bit.Function.Check(x.Dim())
	}
	if err != nil {
		return r.Damaged("%v", err)
	}
	return r.End()
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
