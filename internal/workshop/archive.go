package workshop

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"unicode"

	"hashgrove/internal/picture/gallery"
)

// A zip of pictures may come from anyone, so nothing in it is trusted. The names of its entries become labels and
// texts, never paths: pictures are unpacked under generated names, into a folder per class. Every length is bounded
// before memory or disk is taken for it, and again while it is read, because the list of a zip may lie.

const (
	largestPicture = 32 << 20 // bytes of one file in a zip
	largestRatio   = 200      // ratio of unpacked to packed bytes above which an entry of more than a megabyte is a bomb
	longestClass   = 80       // characters of the name of a class
)

// entry is a picture in a zip.
type entry struct {
	file  *zip.File
	class string // the folder that it lies in
	name  string // its path in the zip, in slashes
}

// listArchive lists the pictures of a zip, skipping entries whose names are not those of pictures.
func listArchive(r io.ReaderAt, size int64, o Options) ([]entry, error) {
	budget := int64(1<<20 + 512*o.MaxPictures) // for the list, which Go reads in one go
	limited := &limitedReaderAt{r: r, left: budget}
	z, err := zip.NewReader(limited, size)
	switch {
	case errors.Is(err, errLongList):
		return nil, fmt.Errorf("the zip lists too many files: it may hold %d pictures", o.MaxPictures)
	case err != nil && !errors.Is(err, zip.ErrInsecurePath):
		return nil, fmt.Errorf("the zip cannot be read (%w): pack the pictures again", err)
	}
	limited.left = -1 // the list is read: from here on each entry is bounded
	var list []entry
	total := uint64(0)
	for _, f := range z.File {
		e, ok, err := pictureEntry(f)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		if len(list) == o.MaxPictures {
			return nil, fmt.Errorf("the zip holds more than %d pictures: take a part of them", o.MaxPictures)
		}
		if total += f.UncompressedSize64; f.UncompressedSize64 > largestPicture || total > uint64(o.MaxUnpacked) {
			return nil, fmt.Errorf("the zip holds too much: a picture may have %s, and all of them %s",
				sizeText(largestPicture), sizeText(o.MaxUnpacked))
		}
		list = append(list, e)
	}
	if len(list) == 0 {
		return nil, noPictures(z)
	}
	return list, nil
}

// noPictures says what to do about a zip without pictures.
func noPictures(z *zip.Reader) error {
	if slices.ContainsFunc(z.File, func(f *zip.File) bool { return strings.HasSuffix(f.Name, ".npy") }) {
		return fmt.Errorf("the file is an npz archive: upload the npy file of the vectors, then its labels")
	}
	return fmt.Errorf("the zip holds no pictures: put JPEG, PNG, GIF, BMP, TIFF or WebP files into a folder for each " +
		"class")
}

// pictureEntry examines one entry. It returns false for an entry to skip, and an error for one that makes the whole zip
// suspect.
func pictureEntry(f *zip.File) (entry, bool, error) {
	name := strings.ReplaceAll(f.Name, `\`, "/")
	parts := strings.Split(name, "/")
	drive := len(parts[0]) > 1 && parts[0][1] == ':'
	switch {
	case strings.HasPrefix(name, "/") || drive || slices.Contains(parts, "..") || strings.ContainsRune(name, 0):
		return entry{}, false, fmt.Errorf("the zip names the file %q outside of it: pack the folder again", printable(name))
	case f.Mode()&fs.ModeSymlink != 0:
		return entry{}, false, fmt.Errorf("%q in the zip is a link: pack the pictures themselves", printable(name))
	case strings.HasSuffix(name, "/") || f.Mode().IsDir():
		return entry{}, false, nil
	case !f.Mode().IsRegular():
		return entry{}, false, fmt.Errorf("%q in the zip is not a file: pack the pictures themselves", printable(name))
	}
	parts = slices.DeleteFunc(parts, func(p string) bool { return p == "" || p == "." })
	hidden := slices.ContainsFunc(parts, func(p string) bool { return p[0] == '.' || p == "__MACOSX" })
	if hidden || !gallery.Promises(name) {
		return entry{}, false, nil
	}
	switch {
	case f.Flags&1 != 0:
		return entry{}, false, fmt.Errorf("the zip is encrypted: pack the pictures without a password")
	case f.Method != zip.Store && f.Method != zip.Deflate:
		return entry{}, false, fmt.Errorf("%q is packed in a way that is not read: use the usual compression of zip",
			printable(name))
	case f.UncompressedSize64 > 1<<20 && f.UncompressedSize64/largestRatio > f.CompressedSize64:
		return entry{}, false, fmt.Errorf("%q claims to unpack to more than %d times its size: it is no picture",
			printable(name), largestRatio)
	case len(parts) < 2:
		return entry{}, false, fmt.Errorf("the picture %q lies in no folder: put every picture into the folder of its class",
			printable(name))
	}
	return entry{f, parts[len(parts)-2], path.Join(parts...)}, true, nil
}

// errLongList stops reading the list of a zip.
var errLongList = errors.New("the list is too long")

// limitedReaderAt reads at most a number of bytes; negative means no limit.
type limitedReaderAt struct {
	r    io.ReaderAt
	left int64
}

func (l *limitedReaderAt) ReadAt(p []byte, off int64) (int, error) {
	if l.left >= 0 {
		if int64(len(p)) > l.left {
			return 0, errLongList
		}
		l.left -= int64(len(p))
	}
	return l.r.ReadAt(p, off)
}

// unpackArchive writes the pictures into an existing folder, one sub-folder per class. It returns the original name of
// each by its path below the folder, with slashes.
func unpackArchive(ctx context.Context, list []entry, dir string, o Options) (names map[string]string, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	folders, names := map[string]string{}, make(map[string]string, len(list))
	taken := map[string]int{}
	left := o.MaxUnpacked
	for i, e := range list {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		folder, known := folders[e.class]
		if !known {
			folder = folderName(e.class, taken)
			folders[e.class] = folder
			if err := root.Mkdir(folder, 0o700); err != nil {
				return nil, err
			}
		}
		b, err := e.read(min(left, largestPicture), o.MaxPixels)
		if err != nil {
			return nil, fmt.Errorf("%q %w", printable(e.name), err)
		}
		left -= int64(len(b))
		name := fmt.Sprintf("%06d%s", i+1, strings.ToLower(path.Ext(e.name)))
		if err := root.WriteFile(folder+"/"+name, b, 0o600); err != nil {
			return nil, err
		}
		names[folder+"/"+name] = e.name
	}
	return names, nil
}

// read returns the bytes of a picture after checking that they look like one.
func (e *entry) read(limit int64, pixels int) ([]byte, error) {
	r, err := e.file.Open()
	if err != nil {
		return nil, fmt.Errorf("cannot be unpacked: %w", err)
	}
	defer r.Close()
	b, err := io.ReadAll(io.LimitReader(r, limit+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("cannot be unpacked (%w): pack the pictures again", err)
	case int64(len(b)) > limit:
		return nil, fmt.Errorf("unpacks to more than it claims, or than is allowed")
	}
	width, height, err := gallery.Size(b)
	if err != nil {
		return nil, err
	}
	if width < 1 || height < 1 || width > pixels/height {
		return nil, fmt.Errorf("has %d x %d pixels: at most %d megapixels are taken", width, height, pixels/1_000_000)
	}
	return b, nil
}

// folderName turns the name of a class into a unique folder name. Labels are read from it, so it stays as close to the
// original as file systems allow. Taken holds the names in use, in lower case, and the last number tried for each.
func folderName(class string, taken map[string]int) string {
	clean := strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\:*?"<>|`, r) || !unicode.IsPrint(r) {
			return '_'
		}
		return r
	}, strings.ToValidUTF8(class, "_"))
	if runes := []rune(clean); len(runes) > longestClass {
		clean = string(runes[:longestClass])
	}
	if clean = strings.Trim(clean, ". "); clean == "" {
		clean = "class"
	}
	name, lower := clean, strings.ToLower(clean)
	for n := max(1, taken[lower]); taken[strings.ToLower(name)] > 0; {
		n++
		name, taken[lower] = fmt.Sprintf("%s (%d)", clean, n), n
	}
	taken[strings.ToLower(name)] = max(1, taken[strings.ToLower(name)])
	return name
}
