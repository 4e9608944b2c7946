package dataset

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// interner keeps one copy of strings that occur often.
type interner map[string]string

const maxInterned, longestInterned = 1 << 16, 1 << 10

func (m interner) keep(s string) string {
	if kept, found := m[s]; found {
		return kept
	}
	if len(m) < maxInterned && len(s) <= longestInterned {
		m[s] = s
	}
	return s
}

func (m interner) keepBytes(b []byte) string {
	if kept, found := m[string(b)]; found {
		return kept
	}
	return m.keep(string(b))
}

// tagSeparator returns the character between the tags in these texts: the first of tab, |, ; and comma that any of them
// has, or else a space. One rule for a whole file keeps "blue sky" together if other rows have commas.
func tagSeparator(texts ...string) byte {
	for _, sep := range []byte("\t|;,") {
		if slices.ContainsFunc(texts, func(s string) bool { return strings.IndexByte(s, sep) >= 0 }) {
			return sep
		}
	}
	return ' '
}

// appendTags appends the tags in text, trimmed, without empty ones.
func (m interner) appendTags(tags []string, text string, sep byte) []string {
	for text != "" {
		var tag string
		tag, text, _ = strings.Cut(text, string(rune(sep)))
		if tag = strings.TrimSpace(tag); tag != "" {
			tags = append(tags, m.keep(tag))
		}
	}
	return tags
}

// parseTags parses texts that are tags with one separator for all of them (tagSeparator), JSON lists, or the rows of a
// 0/1 matrix, whose columns, counted from 0, are the tags. An empty text is a row without tags.
func parseTags(in *input, texts []string) ([][]string, error) {
	tags := make([][]string, len(texts))
	seen, sep, lists := interner{}, tagSeparator(texts...), true
	for _, text := range texts {
		lists = lists && (text == "" || text[0] == '[')
	}
	var j jsonLine
	if lists {
		sep = ','
	}
	for i, text := range texts {
		if err := in.hold(entryBytes * (2 + strings.Count(text, string(rune(sep))))); err != nil {
			return nil, err
		}
		if !lists {
			tags[i] = seen.appendTags(nil, text, sep)
			continue
		}
		if text == "" {
			continue
		}
		j.reset([]byte(text))
		var err error
		if tags[i], err = j.tags(nil, seen); err == nil {
			err = j.end()
		}
		if err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", in.path, i+1, err)
		}
	}
	matrixTags(tags)
	return tags, nil
}

// matrixTags recognises a 0/1 matrix written as text: the same number of fields in every line, three or more, all of
// them 0 or 1. Sets of tags do not look like this, since they would name a tag twice.
func matrixTags(tags [][]string) {
	if len(tags) == 0 || len(tags[0]) < 3 {
		return
	}
	for _, row := range tags {
		if len(row) != len(tags[0]) || slices.ContainsFunc(row, func(s string) bool { return s != "0" && s != "1" }) {
			return
		}
	}
	for i, row := range tags {
		kept := row[:0]
		for j, s := range row {
			if s == "1" {
				kept = append(kept, strconv.Itoa(j))
			}
		}
		tags[i] = kept
	}
}
