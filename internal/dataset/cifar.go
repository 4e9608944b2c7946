package dataset

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"hashgrove/internal/message"
	"hashgrove/internal/picture"
)

// The binary versions of CIFAR-10 and CIFAR-100: records of one label byte (CIFAR-100: a coarse and a fine one),
// then 3072 bytes of pixels, 32 x 32 red, green, blue. The label is the name of the class if the list of names lies
// in the same folder, else its number; CIFAR-100 gives the fine one, or the coarse one if the label is called coarse.

const cifarPixels = 3 * 32 * 32

// cifarFormat holds what differs between CIFAR-10 and CIFAR-100.
type cifarFormat struct {
	name    string
	classes []byte // of each label byte
	lists   []string
}

var (
	cifar10  = cifarFormat{"cifar10", []byte{10}, []string{"batches.meta.txt"}}
	cifar100 = cifarFormat{"cifar100", []byte{20, 100}, []string{"coarse_label_names.txt", "fine_label_names.txt"}}
)

func (c *cifarFormat) record() int { return len(c.classes) + cifarPixels }

// cifar reads pictures with labels.
type cifar struct {
	in *input
	*cifarFormat
	label  int // which label byte to use
	labels []string
	row    int
}

func (c *cifarFormat) open(in *input, spec *Spec) (reader, header, error) {
	h := header{format: c.name, rows: -1, dim: cifarPixels}
	h.shape = picture.Shape{Width: 32, Height: 32, Channels: 3, Planar: true}
	if in.size >= 0 {
		if err := in.countable(int64(c.record())); err != nil {
			return nil, h, err
		}
		if h.rows = int(in.size / int64(c.record())); in.size%int64(c.record()) != 0 {
			return nil, h, message.New("cut-off",
				"%s: is cut off, or not %s: its size is not a multiple of %d", in.path, c.name, c.record())
		}
	}
	r := &cifar{in: in, cifarFormat: c, label: len(c.classes) - 1}
	switch {
	case len(c.classes) == 2 && spec.Label == "coarse":
		r.label = 0
	case spec.Label != "" && spec.Label != "label" && (len(c.classes) == 1 || spec.Label != "fine"):
		return nil, h, message.New("no-such-column", "%s: %s has no label %q", in.path, c.name, spec.Label)
	}
	var err error
	r.labels, err = classNames(filepath.Join(filepath.Dir(in.path), c.lists[r.label]), int(c.classes[r.label]))
	return r, h, err
}

// classNames reads a name per line; without such a file the names are numbers.
func classNames(path string, n int) ([]string, error) {
	f, err := message.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		names := make([]string, n)
		for i := range names {
			names[i] = strconv.Itoa(i)
		}
		return names, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 1<<16))
	if err != nil {
		return nil, err
	}
	names := strings.Fields(string(b))
	if len(names) != n {
		return nil, message.New("wrong-count", "%s: lists %d classes instead of %d", path, len(names), n)
	}
	return names, nil
}

func (c *cifar) next(rec *record) error {
	*rec = record{pixels: rec.pixels[:0], tags: rec.tags[:0]}
	b, err := c.in.take(c.record())
	if err == io.ErrUnexpectedEOF {
		return cutOff(c.in.path, c.row, -1)
	}
	if err != nil {
		return err
	}
	c.row++
	class := b[c.label]
	if int(class) >= len(c.labels) {
		cause := message.New("unknown-class", "the class %d, but there are only %d", class, len(c.labels))
		return badRow(c.in.path, c.row-1, "label", cause)
	}
	rec.label, rec.hasLabel = c.labels[class], true
	rec.pixels = append(rec.pixels, b[len(c.classes):]...)
	return nil
}

func (c *cifar) Close() error { return c.in.Close() }

// looks reports whether the label is in range at the start of every record.
func (c *cifarFormat) looks(s *sample) bool {
	size := int64(c.record())
	if len(s.head) < c.record() || s.size >= 0 && s.size%size != 0 {
		return false
	}
	if s.size < 0 && !strings.Contains(s.name, "_batch") && !strings.Contains(s.name, "cifar") {
		return false // too weak without the size
	}
	for at := int64(0); at+size <= int64(len(s.head)); at += size {
		for i, n := range c.classes {
			if s.head[at+int64(i)] >= n {
				return false
			}
		}
	}
	return !bytes.Equal(s.head[:size], make([]byte, size))
}
