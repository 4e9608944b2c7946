package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

// file is one of an archive. Its name has slashes and no leading one.
type file struct {
	name string
	mode fs.FileMode
	data []byte
}

// withFolders sorts files, puts the folders they are in before them, whose names end with a slash, and all of it into
// another folder.
func withFolders(in string, files []file) []file {
	list := []file{{in + "/", 0o755, nil}}
	seen := map[string]bool{}
	for _, f := range files {
		list = append(list, file{in + "/" + f.name, f.mode, f.data})
		for dir := path.Dir(f.name); dir != "." && !seen[dir]; dir = path.Dir(dir) {
			seen[dir] = true
			list = append(list, file{in + "/" + dir + "/", 0o755, nil})
		}
	}
	slices.SortFunc(list, func(a, b file) int { return strings.Compare(a.name, b.name) })
	return list
}

// tarGz packs a folder of files that belong to root and have one date.
func tarGz(in string, files []file, date time.Time) ([]byte, error) {
	var plain bytes.Buffer
	w := tar.NewWriter(&plain)
	for _, f := range withFolders(in, files) {
		h := &tar.Header{
			Typeflag: tar.TypeReg, Name: f.name, Mode: int64(f.mode), Size: int64(len(f.data)), ModTime: date,
			Uname: "root", Gname: "root", Format: tar.FormatUSTAR,
		}
		if strings.HasSuffix(f.name, "/") {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return gzipped(plain.Bytes())
}

// gzipped compresses without a name and a date.
func gzipped(data []byte) ([]byte, error) {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// zipped packs a folder of files for Windows.
func zipped(in string, files []file, date time.Time) ([]byte, error) {
	return zipFiles(withFolders(in, files), date)
}

// zipFiles packs files and folders, whose names end in a slash, in their order and with one date.
func zipFiles(list []file, date time.Time) ([]byte, error) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, f := range list {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: date}
		h.SetMode(f.mode)
		if strings.HasSuffix(f.name, "/") {
			h.Method = zip.Store
			h.SetMode(f.mode | fs.ModeDir)
		}
		to, err := w.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := to.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
