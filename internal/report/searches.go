package report

import (
	_ "embed" // the page
	"fmt"
	"html/template"
	"io"
	"time"

	"hashgrove/internal/section"
)

// SearchPage shows queries and the items found for each.
type SearchPage struct {
	Title    string
	Date     time.Time // zero hides it
	Command  string    // that made the page, or ""
	Version  string
	Notes    []string
	Searches []Search
}

// Search is one query and what was found for it, nearest first.
type Search struct {
	Query Picture
	Note  string // about the answer as a whole
	Hits  []FoundItem
}

// FoundItem is a hit with other facts about the item, such as "price 12".
type FoundItem struct {
	Hit
	Details []string
}

//go:embed searches.html
var searchesHTML string

var searchesPage = newPage(searchesHTML, template.FuncMap{"url": pictureURL, "alt": pictureText, "tail": tail})

// longestName is the number of characters of a name below a picture.
const longestName = 32

// tail is the end of a long name: names of files differ there.
func tail(name string) string {
	r := []rune(name)
	if len(r) <= longestName {
		return name
	}
	return "…" + string(r[len(r)-longestName+1:])
}

// WriteSearches writes a page of answers.
func WriteSearches(w io.Writer, s SearchPage) error {
	labelled := false
	for i, search := range s.Searches {
		labelled = labelled || search.Query.Label != ""
		if err := search.Query.validate(); err != nil {
			return fmt.Errorf("query %d: %w", i, err)
		}
		for j, h := range search.Hits {
			if err := h.Picture.validate(); err != nil {
				return fmt.Errorf("query %d, hit %d: %w", i, j, err)
			}
		}
	}
	v := struct {
		SearchPage
		Labelled bool
	}{s, labelled}
	f := frame{Title: s.Title, Command: s.Command, Version: s.Version, When: formatDate(s.Date), Page: v}
	return f.write(w, searchesPage)
}

// WriteSearchesFile writes the page to a file, replacing it only once the page is complete.
func WriteSearchesFile(path string, s SearchPage) error {
	return section.WriteFile(path, func(w io.Writer) error { return WriteSearches(w, s) })
}
