package dataset

import (
	"fmt"

	"hashgrove/internal/message"
)

// A file can claim anything, and a few bytes can stand for many: a compressed file for a thousand times its size. What
// a reader allocates is therefore bounded by the actual bytes; docs/promises.md states the bounds for every format.

// heldBytes and heldFactor bound the memory for what is kept of a file, such as labels, tags, ids, pairs and
// attributes: a number of bytes, and a multiple of the bytes on disk. Plain text never needs more. Tests use less.
var heldBytes int64 = 256 << 20

const heldFactor = 256

const (
	// madeValues and madeFactor bound the number of values in rows: a number, and a multiple of the bytes of the
	// content.
	madeValues, madeFactor = 1 << 28, 4096

	// pictureBytes and pictureFactor bound a picture in an archive: a number of bytes, and a multiple of the bytes on
	// disk.
	pictureBytes, pictureFactor = 64 << 20, 64

	// Largest factors by which compression formats can shrink content.
	gzipFactor, zstdFactor = 1032, 1 << 15

	entryBytes = 32 // bytes of an entry of a list besides its text
)

// hold counts memory that is kept as long as what was read of the file.
func (in *input) hold(bytes int) error {
	if in.held += int64(bytes); in.held <= heldBytes+heldFactor*in.disk {
		return nil
	}
	advice := ""
	if in.packed != "" {
		advice = ": decompress it first if that is meant"
	}
	return message.New("too-much-memory", "%s: what it holds would take far more memory than its %d bytes can be worth%s",
		in.path, in.disk, advice)
}

// most returns the largest possible size of the content in bytes, or -1 if unknown.
func (in *input) most() int64 {
	switch {
	case in.size >= 0:
		return in.size
	case in.stream != nil:
		return -1
	case in.packed == "zstd":
		return in.disk * zstdFactor
	}
	return in.disk * gzipFactor
}

// content returns how many bytes of content are known to exist.
func (in *input) content() int64 { return max(in.size, in.came) }

// worth counts the values of rows in a format in which a few bytes can make many, and returns an error if they are more
// than the content justifies.
func (in *input) worth(values int) error {
	if in.made += int64(values); in.made-madeValues > madeFactor*in.content() {
		return fmt.Errorf("%s: %d values in its rows, far more than its %d bytes can be worth",
			in.path, in.made, in.content())
	}
	return nil
}
