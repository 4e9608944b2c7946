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

func (c *cifarFormat) open(in *input, spec *Spec) (reader, header, error) {
	h := header{format: c.name, shape: picture.Shape{Width: 32, Height: 32, Channels: 3, Planar: true}}
	which := len(c.classes) - 1 // of the label bytes
	switch {
	case which == 1 && spec.Label == "coarse":
		which = 0
	case spec.Label != "" && spec.Label != "label" && (which == 0 || spec.Label != "fine"):
		return nil, h, message.New("no-such-column", "%s: %s has no label %q", in.path, c.name, spec.Label)
	}
	labels, err := classNames(filepath.Join(filepath.Dir(in.path), c.lists[which]), int(c.classes[which]))
	if err != nil {
		return nil, h, err
	}
	d := newDense(in, in.path, dtype{'u', 1, false}, -1, cifarPixels, spec)
	d.pixels, d.lead = true, len(c.classes)
	d.begin = func(lead []byte, rec *record) error {
		class := int(lead[which])
		if class >= len(labels) {
			return badRow(in.path, d.row-1, "label",
				message.New("unknown-class", "the class %d, but there are only %d", class, len(labels)))
		}
		rec.label, rec.hasLabel = labels[class], true
		return nil
	}
	return d.counted(h)
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

// looks reports whether the label is in range at the start of every record.
func (c *cifarFormat) looks(s *sample) bool {
	size := int64(len(c.classes) + cifarPixels)
	if int64(len(s.head)) < size || s.size >= 0 && s.size%size != 0 {
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
