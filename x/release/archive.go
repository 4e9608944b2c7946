package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
)

// tarGz packs the contents of a folder.
func tarGz(folder, to string) error {
	f, err := create(to)
	if err != nil {
		return err
	}
	z := gzip.NewWriter(f)
	w := tar.NewWriter(z)
	return errors.Join(w.AddFS(os.DirFS(folder)), w.Close(), z.Close(), f.Close())
}

// zipped packs the contents of a folder for Windows and for pip.
func zipped(folder, to string) error {
	f, err := create(to)
	if err != nil {
		return err
	}
	w := zip.NewWriter(f)
	return errors.Join(w.AddFS(os.DirFS(folder)), w.Close(), f.Close())
}

// create creates a file and the folders it is in.
func create(name string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return nil, err
	}
	return os.Create(name)
}
