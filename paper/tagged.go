package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"hashgrove/internal/message"
)

// The data sets with tags (Guillaumin et al., ICCV 2009). Each lies in a folder of its name, pictures in folders below
// it, with lists in one of these layouts, the first that is there:
//
//	ids.txt, labels.txt, tags.txt, split.txt      line i of each: a picture; its numbers of tags, from 0; the name of
//	                                              tag i; train or test
//	NAME_dictionary.txt                           the lists of TagProp: the names of the tags,
//	NAME_train_list.txt, NAME_test_list.txt       the pictures
//	NAME_train_annot.hvecs, NAME_test_annot.hvecs and for each its tags as 0 or 1: int16 numbers, each row led by its
//	                                              length
//	annotations/CONCEPT.txt                       MIRFLICKR-25000 as published: the numbers of the pictures with the
//	                                              concept, a line each
//	mirflickr25k_annotations_v080/CONCEPT.txt     likewise
var (
	iaprTC12 = taggedCollection("iaprtc12", "IAPR TC-12",
		"The database is the training part of 17,665 pictures; the queries are the 1,962 test pictures.")
	espGame = taggedCollection("espgame", "ESP Game",
		"The database is the training part of TagProp, 18,689 pictures; the queries are its test part.")
	mirFlickr = taggedCollection("mirflickr", "MIRFLICKR-25000",
		"The database and the queries are 12,500 pictures each: the parts of TagProp's lists or, without them, the "+
			"pictures with odd and with even numbers.")
)

func taggedCollection(name, title, parts string) collection {
	return collection{
		name: name, title: title, prefix: name + "-", gist: gist512(), tagged: true,
		parts: fmt.Sprintf("%s Pictures are reduced to %d x %d pixels and count as similar when they share at least "+
			"two tags.", parts, side, side),
		open: func(runner *Runner) (base, queries split, err error) {
			dir := filepath.Join(runner.Data, name)
			entries, err := readTags(dir, name)
			if err != nil {
				return base, queries, err
			}
			g, err := tagGallery(dir, entries)
			if err != nil {
				return base, queries, err
			}
			base, queries = g.split(name + "-")
			return base, queries, nil
		},
	}
}

// entry is one picture of a list.
type entry struct {
	picture string // name, with or without folders and extension
	tags    []string
	query   bool
}

// readTags reads the lists in whichever layout there is.
func readTags(dir, name string) ([]entry, error) {
	layouts := []struct {
		file string
		read func(dir, name string) ([]entry, error)
	}{
		{"ids.txt", readPlain}, {name + "_train_list.txt", readTagProp},
		{"annotations", readConcepts}, {"mirflickr25k_annotations_v080", readConcepts},
	}
	for _, l := range layouts {
		if _, err := os.Stat(filepath.Join(dir, l.file)); err == nil {
			return l.read(dir, name)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	path := filepath.Join(dir, name+"_train_list.txt")
	return nil, missing(path, fs.ErrNotExist)
}

// tagGallery finds the listed pictures in the folder.
func tagGallery(dir string, entries []entry) (gallery, error) {
	g := gallery{dir: dir, items: map[string]item{}}
	files, err := pictures(dir)
	if err != nil {
		return g, err
	}
	at := map[string]string{} // path by stem; "" if several pictures have it
	for name := range files {
		if _, twice := at[stem(name)]; twice {
			at[stem(name)] = ""
			continue
		}
		at[stem(name)] = name
	}
	for _, e := range entries {
		name, ok := at[stem(e.picture)]
		switch {
		case !ok:
			return g, message.New("no-such-picture", "%s: there is no picture %s, which a list names: unpack the pictures into "+
				"that folder", dir, e.picture)
		case name == "":
			return g, message.New("same-name", "%s: several pictures are called %s: keep one of them", dir, stem(e.picture))
		}
		if _, twice := g.items[name]; twice {
			return g, message.New("listed-twice", "%s: the lists name %s twice", dir, e.picture)
		}
		g.items[name] = item{Tags: e.tags, Query: e.query, Size: files[name]}
	}
	return g, nil
}

// readLines reads a text file of at most a million lines.
func readLines(path string) ([]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, missing(path, err)
	}
	defer f.Close()
	var list []string
	for s := bufio.NewScanner(f); ; {
		if !s.Scan() {
			return list, s.Err()
		}
		if list = append(list, strings.TrimSpace(s.Text())); len(list) > 1<<20 {
			return nil, fmt.Errorf("%s: more than a million lines", path)
		}
	}
}

// readPlain reads the first layout.
func readPlain(dir, _ string) ([]entry, error) {
	var text [4][]string
	for i, name := range []string{"tags.txt", "ids.txt", "labels.txt", "split.txt"} {
		var err error
		if text[i], err = readLines(filepath.Join(dir, name)); err != nil {
			return nil, err
		}
		if i > 1 && len(text[i]) != len(text[1]) {
			return nil, message.New("wrong-count", "%s: %d lines for the %d pictures of ids.txt", filepath.Join(dir, name),
				len(text[i]), len(text[1]))
		}
	}
	names, ids, labels, part := text[0], text[1], text[2], text[3]
	entries := make([]entry, len(ids))
	for i, id := range ids {
		e := entry{picture: id, query: part[i] == "test"}
		if part[i] != "test" && part[i] != "train" {
			return nil, message.New("bad-value", "%s: line %d: %q is neither train nor test",
				filepath.Join(dir, "split.txt"), i+1, part[i])
		}
		for _, word := range strings.Fields(labels[i]) {
			t, err := strconv.Atoi(word)
			if err != nil || t < 0 || t >= len(names) {
				return nil, message.New("no-such-tag", "%s: line %d: %q is not the number of one of the %d tags",
					filepath.Join(dir, "labels.txt"),
					i+1, word, len(names))
			}
			e.tags = append(e.tags, names[t])
		}
		entries[i] = e
	}
	return entries, nil
}

// readTagProp reads the lists of TagProp.
func readTagProp(dir, name string) ([]entry, error) {
	names, err := readLines(filepath.Join(dir, name+"_dictionary.txt"))
	if err != nil {
		return nil, err
	}
	var entries []entry
	for _, part := range []string{"train", "test"} {
		list, err := readLines(filepath.Join(dir, name+"_"+part+"_list.txt"))
		if err != nil {
			return nil, err
		}
		path := filepath.Join(dir, name+"_"+part+"_annot.hvecs")
		b, err := os.ReadFile(path)
		if err != nil {
			return nil, missing(path, err)
		}
		rows, err := parseTags(b, len(names))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if len(rows) != len(list) {
			return nil, message.New("wrong-count", "%s: tags of %d pictures, but the list has %d", path, len(rows), len(list))
		}
		for i, picture := range list {
			e := entry{picture: picture, query: part == "test"}
			for _, t := range rows[i] {
				e.tags = append(e.tags, names[t])
			}
			entries = append(entries, e)
		}
	}
	return entries, nil
}

// parseTags reads rows of 16-bit zeros and ones and returns the positions of the ones.
func parseTags(b []byte, tags int) ([][]int, error) {
	size := 2 * (tags + 1)
	if len(b)%size != 0 {
		return nil, message.New("odd-size", "%d bytes are not whole rows of %d tags", len(b), tags)
	}
	rows := make([][]int, len(b)/size)
	for i := range rows {
		row := b[i*size : (i+1)*size]
		if n := binary.LittleEndian.Uint16(row); int(n) != tags {
			return nil, message.New("wrong-width", "row %d has %d tags, but the dictionary has %d", i, n, tags)
		}
		for t := range tags {
			switch v := binary.LittleEndian.Uint16(row[2*t+2:]); v {
			case 0:
			case 1:
				rows[i] = append(rows[i], t)
			default:
				return nil, message.New("bad-value", "row %d, tag %d: %d is neither 0 nor 1", i, t, v)
			}
		}
	}
	return rows, nil
}

// readConcepts reads the annotations of MIRFLICKR: a file per concept. All pictures count, even those without a
// concept.
func readConcepts(dir, _ string) ([]entry, error) {
	files, err := pictures(dir)
	if err != nil {
		return nil, err
	}
	tags := map[int][]string{}
	for name := range files {
		if n, err := strconv.Atoi(strings.TrimPrefix(stem(name), "im")); err == nil {
			tags[n] = nil
		}
	}
	var lists []string
	for _, folder := range []string{"annotations", "mirflickr25k_annotations_v080"} {
		found, err := filepath.Glob(filepath.Join(dir, folder, "*.txt"))
		if err != nil {
			return nil, err
		}
		lists = append(lists, found...)
	}
	slices.Sort(lists)
	for _, path := range lists {
		concept := strings.TrimSuffix(filepath.Base(path), ".txt")
		if strings.EqualFold(concept, "readme") {
			continue
		}
		text, err := readLines(path)
		if err != nil {
			return nil, err
		}
		for i, line := range text {
			if line == "" {
				continue
			}
			n, err := strconv.Atoi(line)
			if err != nil {
				return nil, message.New("not-a-number", "%s: line %d: %q is not the number of a picture", path, i+1, line)
			}
			if _, ok := tags[n]; !ok {
				return nil, message.New("no-such-picture", "%s: line %d: there is no picture im%d.jpg: unpack the pictures into %s",
					path, i+1, n, dir)
			}
			tags[n] = append(tags[n], concept)
		}
	}
	var entries []entry
	for n, t := range tags {
		entries = append(entries, entry{fmt.Sprintf("im%d", n), t, n%2 == 0})
	}
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.picture, b.picture) })
	return entries, nil
}
