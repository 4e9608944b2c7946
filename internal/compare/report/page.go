// Package report turns an evaluation of several hashing methods into a single HTML file with tables and plots. It has
// no scripts and loads nothing from the network, so it opens from disk and prints well.
//
//	Data       the content of the page, filled in by the caller
//	Write      Data -> HTML
//	WriteFile  Data -> HTML file
//
// The same data always give the same bytes. Sections without data are left out.
package report

import (
	"bytes"
	_ "embed" // the template and the style
	"html/template"
	"io"
	"slices"
	"strings"
	"time"

	"hashgrove/internal/eval"
	"hashgrove/internal/fileio"
)

// Data is the content of a report. Everything except Title and Rows may be left empty.
type Data struct {
	Title   string
	Date    time.Time // when the numbers were measured; shown as given, in its own zone
	Version string    // of the program
	Machine string    // processor, cores, memory: what the seconds depend on
	Command string    // the command line that reproduces the report
	Dataset Dataset

	// Advice is the conclusion in words. The first sentence becomes the headline of the page.
	Advice []string
	// Warnings are reservations about the numbers, as in eval.Report.Warnings; duplicates are shown once.
	Warnings []string

	// Rows has one entry for each method and code length, those of a method in order of length. Method is the name to
	// show. Bits is 0 without a code, as for float search: such rows are compared with every length.
	Rows []eval.Row
}

// Dataset describes the data that were searched.
type Dataset struct {
	Name    string   `json:"name"`     // usually the file
	Base    int      `json:"base"`     // items to find
	Learned int      `json:"learned"`  // of these, items that methods learned from
	New     int      `json:"new"`      // the others
	Queries int      `json:"queries"`  // items to search with
	Dim     int      `json:"dim"`      // numbers in a vector
	Classes int      `json:"classes"`  // 0 when similarity is not by class
	Similar string   `json:"similar"`  // what makes two items similar: "same class", "2 or more shared tags"
	HeldOut []string `json:"held_out"` // classes that no training saw, for UnseenMAP
	Notes   []string `json:"-"`        // anything else worth a line
}

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

var page = template.Must(template.New("page").Parse(pageHTML))

// view is Data prepared for the template, which only loops and prints.
type view struct {
	Data
	CSS      template.CSS
	When     string // and on which machine
	Facts    []fact
	Headline string
	Advice   []string
	Overview *drawing
	Plots    []drawing
	Columns  []column
	Span     int // of the table of results, without the first column
	Groups   []group
	Warnings []string

	Margins                bool   // some results were ranked by margins too
	Nearest                bool   // the nearest of the class were measured
	NewItems, LearnedItems string // how many
	UnseenChance           string
}

type fact struct{ Name, Text string }

// drawing is a figure as the page shows it.
type drawing struct {
	ID, Title, Caption string
	SVG                template.HTML
}

// Write writes the page.
func Write(w io.Writer, d Data) error {
	v := view{
		Data: d, CSS: template.CSS(chartCSS + pageCSS), Facts: d.facts(), Columns: d.columns(),
	}
	v.Nearest = slices.ContainsFunc(d.Rows, func(r eval.Row) bool { return nearest(r) > 0 })
	v.Margins = slices.ContainsFunc(d.Rows, func(r eval.Row) bool { return r.Margins.MAP > 0 })
	v.NewItems, v.LearnedItems = Number(float64(d.Dataset.New)), Number(float64(d.Dataset.Learned))
	if i := slices.IndexFunc(d.Rows, func(r eval.Row) bool { return r.UnseenChance > 0 }); i >= 0 {
		v.UnseenChance = formatShare(d.Rows[i].UnseenChance)
	}
	if len(d.Advice) > 0 {
		v.Headline, v.Advice = d.Advice[0], d.Advice[1:]
	}
	for _, f := range d.figures() {
		id := "plot-" + f.name
		g := drawing{ID: id, Title: f.plot.Heading(), Caption: f.caption, SVG: template.HTML(drawSVG(f.plot, id))} // escaped
		if _, ok := f.plot.(Bars); ok {
			v.Overview = &g
			continue
		}
		v.Plots = append(v.Plots, g)
	}
	v.Span = len(v.Columns) + 1
	v.Groups = d.groups(v.Columns)
	for _, w := range d.Warnings {
		if !slices.Contains(v.Warnings, w) {
			v.Warnings = append(v.Warnings, w)
		}
	}
	if v.When = d.Machine; !d.Date.IsZero() {
		v.When = strings.TrimSuffix(d.Date.Format("2 January 2006, 15:04 MST")+" · "+d.Machine, " · ")
	}
	var b bytes.Buffer // so that nothing is written if the template fails
	if err := page.Execute(&b, v); err != nil {
		return err
	}
	_, err := w.Write(b.Bytes())
	return err
}

// WriteFile writes the page to a file, replacing it only once the page is complete.
func WriteFile(path string, d Data) error {
	return fileio.WriteFile(path, func(w io.Writer) error { return Write(w, d) })
}

// mean returns the MAP by the ranking that leads.
func mean(r eval.Row) float64 { return r.Leading().MAP }

// marginsMAP returns the MAP ranked by margins, or 0 if not measured.
func marginsMAP(r eval.Row) float64 { return r.Margins.MAP }

// nearest returns the share of the nearest items of its class that a query finds first, or 0 if not measured.
func nearest(r eval.Row) float64 { return r.Leading().NearestOfClass10 }

// learnedNearest returns the same among training items.
func learnedNearest(r eval.Row) float64 {
	if r.LearnedItems == nil {
		return 0
	}
	return r.LearnedItems.Ranked.NearestOfClass10
}

// hammingMAP returns the MAP by Hamming distance of codes that another ranking leads.
func hammingMAP(r eval.Row) float64 {
	if r.Rank == "" {
		return 0
	}
	return r.MAP
}

func (d Data) facts() []fact {
	s := d.Dataset
	number := func(n int, what string) string {
		if n == 0 {
			return ""
		}
		return Number(float64(n)) + what
	}
	learned := ""
	if s.New > 0 { // else all are
		learned = number(s.Learned, "")
	}
	return slices.DeleteFunc([]fact{
		{Name: "Data", Text: s.Name},
		{Name: "Items to find", Text: number(s.Base, "")},
		{Name: "Learned", Text: learned},
		{Name: "New", Text: number(s.New, "")},
		{Name: "Queries", Text: number(s.Queries, "")},
		{Name: "Vector", Text: number(s.Dim, " numbers")},
		{Name: "Classes", Text: number(s.Classes, "")},
		{Name: "Similar means", Text: s.Similar},
	}, func(t fact) bool { return t.Text == "" })
}
