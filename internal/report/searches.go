package report

import (
	"bytes"
	_ "embed" // the page
	"fmt"
	"html/template"
	"io"
	"time"

	"hashgrove/internal/plot"
	"hashgrove/internal/section"
)

// SearchPage is what a page of answers shows: queries and the items that were found for each.
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

// FoundItem is a hit with whatever else is known about the item, such as "price 12".
type FoundItem struct {
	Hit
	Details []string
}

//go:embed searches.html
var searchesHTML string

var searchesPage = template.Must(template.New("searches").Funcs(template.FuncMap{
	"url": pictureURL, "alt": pictureText,
}).Parse(searchesHTML))

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
		CSS      template.CSS
		When     string
		Labelled bool
	}{s, template.CSS(plot.CSS() + pageCSS), "", labelled} // both are ours
	if !s.Date.IsZero() {
		v.When = s.Date.Format("2 January 2006, 15:04 MST")
	}
	var b bytes.Buffer // so that an error of the template leaves no partial page
	if err := searchesPage.Execute(&b, v); err != nil {
		return err
	}
	_, err := w.Write(b.Bytes())
	return err
}

// WriteSearchesFile writes the page to a file, which is replaced only when the page is complete.
func WriteSearchesFile(path string, s SearchPage) error {
	return section.WriteFile(path, func(w io.Writer) error { return WriteSearches(w, s) })
}
