package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"hashgrove/internal/section"
)

// sidecar is a text file with a line per row of a file of vectors. Lines are plain until a text comes that a line
// cannot hold; then all of them become JSON.
type sidecar struct {
	path   string // of plain lines
	tags   bool
	quoted bool
	lines  strings.Builder
	rows   int
}

// file returns the name of the file, which says how to read it. Tags may be JSON in a file of any name.
func (s *sidecar) file() string {
	if s.quoted && !s.tags {
		return strings.TrimSuffix(s.path, ".txt") + ".jsonl"
	}
	return s.path
}

// add appends the line of a label or an id.
func (s *sidecar) add(text string) error {
	if !s.quoted && (strings.TrimSpace(text) != text || strings.ContainsFunc(text, unicode.IsControl)) {
		if err := s.quote(); err != nil {
			return err
		}
	}
	return s.line(text)
}

// addTags appends the line of a set of tags.
func (s *sidecar) addTags(tags []string) error {
	odd := func(tag string) bool { // what a reader would misread
		return tag == "" || strings.TrimSpace(tag) != tag || strings.ContainsAny(tag, "\t|;,[") ||
			strings.ContainsFunc(tag, unicode.IsControl)
	}
	if !s.quoted {
		single := len(tags) == 1 && strings.ContainsRune(tags[0], ' ') // where no row has a comma, spaces separate
		for _, tag := range tags {
			if odd(tag) || single {
				if err := s.quote(); err != nil {
					return err
				}
				break
			}
		}
	}
	return s.line(tags...)
}

func (s *sidecar) line(texts ...string) error {
	s.rows++
	if !s.quoted {
		s.lines.WriteString(strings.Join(texts, ",") + "\n")
		return nil
	}
	for _, text := range texts {
		if !utf8.ValidString(text) {
			return fmt.Errorf("row %d: %q is not UTF-8: give it another name", s.rows, text)
		}
	}
	var value any = append([]string{}, texts...)
	if !s.tags {
		value = texts[0]
	}
	b, err := json.Marshal(value)
	if err != nil {
		return err
	}
	s.lines.Write(append(b, '\n'))
	return nil
}

// quote converts the lines so far to JSON.
func (s *sidecar) quote() error {
	plain := s.lines.String()
	s.quoted, s.rows = true, 0
	s.lines.Reset()
	for plain != "" {
		var line string
		line, plain, _ = strings.Cut(plain, "\n")
		texts := []string{line}
		if s.tags {
			if texts = nil; line != "" {
				texts = strings.Split(line, ",")
			}
		}
		if err := s.line(texts...); err != nil {
			return err
		}
	}
	return nil
}

// saveBeside moves a file of vectors and its sidecars into place, so that vectors are never beside the labels, tags or
// ids of others: everything is on disk before the first move, an old file of vectors goes before the old sidecars do,
// and the new one comes last.
func saveBeside(vectors *section.File, path string, sides []*sidecar) (err error) {
	var files []*section.File
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
		if s.rows == 0 {
			continue
		}
		f, err := section.Create(s.file())
		if err != nil {
			return err
		}
		files = append(files, f)
		if _, err = io.WriteString(f, s.lines.String()); err == nil {
			err = f.Sync()
		}
		if err != nil {
			return err
		}
	}
	if err := removeRegular(path); err != nil {
		return err
	}
	if err := removeRegular(NpyFiles(path)[1:]...); err != nil { // those of earlier vectors, which may have had others
		return err
	}
	for _, f := range files {
		if err := f.Commit(); err != nil {
			return err
		}
	}
	return vectors.Commit()
}

// removeRegular durably removes those of the files of one folder that exist; devices and pipes stay.
func removeRegular(paths ...string) error {
	removed := false
	for _, path := range paths {
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
			continue
		}
		if err == nil {
			err = os.Remove(path)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		removed = true
	}
	if !removed {
		return nil
	}
	return section.SyncFolder(filepath.Dir(paths[0]))
}
