package dataset

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"hashgrove/internal/fileio"
)

// sidecar is a text file with a line per row of a file of vectors. Lines are plain unless there is a text that a line
// cannot hold; then all of them are JSON.
type sidecar struct {
	path string // of plain lines
	tags bool
	rows [][]string
	json bool
}

// file returns the name of the file, which says how to read it, or "" if there is none. Tags may be JSON in a file of
// any name.
func (s *sidecar) file() string {
	if len(s.rows) == 0 {
		return ""
	}
	if s.json && !s.tags {
		return strings.TrimSuffix(s.path, ".txt") + ".jsonl"
	}
	return s.path
}

// add appends the line of a row: its label, its id, or its tags.
func (s *sidecar) add(texts ...string) {
	s.rows = append(s.rows, slices.Clone(texts))
	// Where no row has a comma, spaces separate tags.
	s.json = s.json || s.tags && len(texts) == 1 && strings.ContainsRune(texts[0], ' ')
	for _, text := range texts {
		s.json = s.json || strings.TrimSpace(text) != text || strings.ContainsFunc(text, unicode.IsControl) ||
			s.tags && (text == "" || strings.ContainsAny(text, "\t|;,["))
	}
}

// content returns the lines.
func (s *sidecar) content() ([]byte, error) {
	var out []byte
	for i, texts := range s.rows {
		if bad := slices.IndexFunc(texts, func(t string) bool { return !utf8.ValidString(t) }); bad >= 0 {
			return nil, fmt.Errorf("row %d: %q is not UTF-8: give it another name", i+1, texts[bad])
		}
		line, err := []byte(strings.Join(texts, ",")), error(nil)
		if s.json && s.tags {
			line, err = json.Marshal(append([]string{}, texts...))
		} else if s.json {
			line, err = json.Marshal(texts[0])
		}
		if err != nil {
			return nil, err
		}
		out = append(append(out, line...), '\n')
	}
	return out, nil
}

// saveBeside moves a file of vectors and its sidecars into place, so that vectors are never beside the labels, tags or
// ids of others: everything is on disk before the first move, an old file of vectors goes before the old sidecars do,
// and the new one comes last.
func saveBeside(vectors *fileio.File, path string, sides []*sidecar) (err error) {
	var files []*fileio.File
	defer func() {
		for _, f := range files {
			f.Abort() // does nothing once in place
		}
	}()
	defer vectors.Abort()
	if err := vectors.Sync(); err != nil {
		return err
	}
	for _, s := range sides {
		if len(s.rows) == 0 {
			continue
		}
		content, err := s.content()
		if err != nil {
			return err
		}
		f, err := fileio.Create(s.file())
		if err != nil {
			return err
		}
		files = append(files, f)
		if _, err = f.Write(content); err == nil {
			err = f.Sync()
		}
		if err != nil {
			return err
		}
	}
	for _, old := range NpyFiles(path) { // those of earlier vectors may have had others; devices and pipes stay
		if info, err := os.Stat(old); err == nil && info.Mode().IsRegular() {
			if err := os.Remove(old); err != nil {
				return err
			}
		}
	}
	if err := fileio.SyncFolder(filepath.Dir(path)); err != nil {
		return err
	}
	for _, f := range files {
		if err := f.Commit(); err != nil {
			return err
		}
	}
	return vectors.Commit()
}
