package workshop

import (
	"archive/tar"
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"hashgrove/internal/picture/gallery"
)

// A zip of pictures may come from anyone. Its pictures are copied into a tar, because package gallery reads those
// without trusting names or pixels, and unpacks nothing to disk. What is left to bound here is the length of the list
// and of every file: the list of a zip may lie.

const (
	largestPicture = 32 << 20 // bytes of one file in a zip
	largestRatio   = 200      // ratio of unpacked to packed bytes above which an entry of more than a megabyte is a bomb
)

// repack copies the pictures of a zip into a new tar and returns how many there are, and in how many folders.
func repack(ctx context.Context, r io.ReaderAt, size int64, to string, o Options) (pictures, folders int, err error) {
	limited := &limitedReaderAt{r: r, left: int64(1<<20 + 512*o.MaxPictures)} // Go reads the whole list at once
	z, err := zip.NewReader(limited, size)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		return 0, 0, bad("the zip cannot be read (%v): pack at most %d pictures again", err, o.MaxPictures)
	}
	limited.left = -1 // the list is read: from here on each entry is bounded
	file, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, 0, err
	}
	out, classes, left := tar.NewWriter(file), map[string]bool{}, o.MaxUnpacked
	defer func() { err = errors.Join(err, out.Close(), file.Close()) }()
	for _, f := range z.File {
		name := path.Clean(strings.ReplaceAll(f.Name, `\`, "/"))
		switch {
		case ctx.Err() != nil:
			return 0, 0, ctx.Err()
		case !f.Mode().IsRegular() || !gallery.Promises(name):
			continue
		case !fs.ValidPath(name):
			return 0, 0, bad("the zip names the file %.100q outside of it: pack the folder again", name)
		case isHidden(name):
			continue
		case path.Dir(name) == ".":
			return 0, 0, bad("the picture %.100q lies in no folder: put every picture into the folder of its class", name)
		case pictures == o.MaxPictures:
			return 0, 0, bad("the zip holds more than %d pictures: take a part of them", o.MaxPictures)
		case f.UncompressedSize64 > uint64(min(largestPicture, left)):
			return 0, 0, bad("the zip holds too much: a picture may have %d MiB, and all of them %d MiB",
				largestPicture>>20, o.MaxUnpacked>>20)
		case f.UncompressedSize64 > 1<<20 && f.UncompressedSize64/largestRatio > f.CompressedSize64:
			return 0, 0, bad("%.100q claims to unpack to more than %d times its size: it is no picture",
				name, largestRatio)
		}
		if err := copyEntry(out, f, name); err != nil {
			return 0, 0, bad("%.100q cannot be unpacked (%v): pack the pictures again, without a password", name, err)
		}
		left -= int64(f.UncompressedSize64)
		classes[path.Dir(name)] = true
		pictures++
	}
	if pictures == 0 {
		return 0, 0, bad("the zip holds no pictures: put JPEG, PNG, GIF, BMP, TIFF or WebP files into a folder for each " +
			"class")
	}
	return pictures, len(classes), nil
}

// copyEntry copies a file of a zip, which must have exactly the size that the zip claims: the tar takes no more.
func copyEntry(to *tar.Writer, f *zip.File, name string) error {
	in, err := f.Open()
	if err != nil {
		return err
	}
	defer in.Close()
	if f.Flags&1 != 0 {
		return errors.New("it is encrypted")
	}
	if err := to.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(f.UncompressedSize64)}); err != nil {
		return err
	}
	_, err = io.Copy(to, in)
	return err
}

// isHidden reports whether an entry is none that people see in their folder.
func isHidden(name string) bool {
	return strings.HasPrefix(name, ".") || strings.Contains(name, "/.") || strings.Contains(name, "__MACOSX/")
}

// limitedReaderAt reads at most a number of bytes; negative means no limit.
type limitedReaderAt struct {
	r    io.ReaderAt
	left int64
}

func (l *limitedReaderAt) ReadAt(p []byte, off int64) (int, error) {
	if l.left >= 0 {
		if int64(len(p)) > l.left {
			return 0, fmt.Errorf("its list is longer than %d bytes", l.left)
		}
		l.left -= int64(len(p))
	}
	return l.r.ReadAt(p, off)
}
