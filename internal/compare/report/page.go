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
	"cmp"
	_ "embed" // the template and the style
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"time"

	"hashgrove/internal/eval"
	"hashgrove/internal/message"
	"hashgrove/internal/section"
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

	// Rows has one entry for each method and code length, in any order. Method is the name to show. Bits is 0
	// without a code, as for float search: such rows are compared with every length.
	Rows []eval.Row
	// RecallRank is the number of nearest codes searched for float neighbours: 10 or 100; 0 means 100.
	RecallRank int
}

// unjudged reports whether there were no labels, so that only the recall of float neighbours was measured.
func (d Data) unjudged() bool {
	return !slices.ContainsFunc(d.Rows, func(r eval.Row) bool { return r.MAP != 0 }) &&
		slices.ContainsFunc(d.Rows, func(r eval.Row) bool { return r.NeighbourRecall100 != 0 })
}

// recall returns the recall of float neighbours.
func (d Data) recall(r eval.Row) float64 {
	if d.RecallRank == 10 {
		return r.NeighbourRecall10
	}
	return r.NeighbourRecall100
}

// quality returns the number by which methods are ordered.
func (d Data) quality(r eval.Row) float64 {
	if d.unjudged() {
		return d.recall(r)
	}
	return r.Leading().MAP
}

// measure returns the name of that number.
func (d Data) measure() string {
	if d.unjudged() {
		return fmt.Sprint("recall@", cmp.Or(d.RecallRank, 100))
	}
	return "MAP"
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
	Tiles    []tile
	Overview *drawing
	Plots    []drawing
	Columns  []column
	Span     int // of the table of results, without the first column
	Groups   []group
	Left     []string // methods that the curves leave out
	Warnings []string
	Classes  []classTable // the second one is folded

	Measure                string // that methods are ordered by
	Unlabelled, Neighbours bool
	Margins                bool   // some results were ranked by margins too
	Nearest                bool   // the nearest of the class were measured
	NewItems, LearnedItems string // how many
	UnseenChance           string
}

type fact struct{ Name, Text string }

type tile struct{ Value, Name, Note string }

// drawing is a figure as the page shows it.
type drawing struct {
	ID, Title, Caption string
	SVG                template.HTML
}

// Write writes the page.
func Write(w io.Writer, d Data) error {
	if err := d.validate(); err != nil {
		return err
	}
	d.RecallRank = cmp.Or(d.RecallRank, 100)
	v := view{
		Data: d, CSS: template.CSS(chartCSS + pageCSS), Facts: d.facts(), Tiles: d.tiles(), Columns: d.columns(),
		Classes: d.classes(),
	}
	v.Measure, v.Unlabelled = d.measure(), d.unjudged()
	v.Neighbours = slices.ContainsFunc(d.Rows, func(r eval.Row) bool { return r.NeighbourRecall100 > 0 })
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
	shown := d.curveResults()
	for _, r := range d.compared() {
		if !slices.ContainsFunc(shown, func(l curve) bool { return l.Method == r.Method }) {
			v.Left = append(v.Left, r.Method)
		}
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
	return section.WriteFile(path, func(w io.Writer) error { return Write(w, d) })
}

type measure struct {
	name  string
	value float64
}

// validate rejects data that would make a misleading page.
func (d Data) validate() error {
	if d.Title == "" {
		return message.New("no-title", "the report has no title: say what was compared")
	}
	if len(d.Rows) == 0 {
		return message.New("no-results", "the report has no results: judge at least one method")
	}
	for i, r := range d.Rows {
		for _, m := range []measure{
			{"MAP", r.MAP}, {"lower bound of MAP", r.MAPLow}, {"upper bound of MAP", r.MAPHigh},
			{"precision@100", r.Precision100}, {"precision", r.ReachablePrecision}, {"PR area", r.PRArea},
			{"unseen-class MAP", r.UnseenMAP}, {"MAP of learned items", learnedMAP(r)},
			{"MAP by margins", marginsMAP(r)}, {"MAP by the expected code", r.Expected.MAP}, {"MAP as ranked", r.Ranked.MAP},
			{"nearest of its class", nearest(r)},
			{"recall of neighbours", r.NeighbourRecall100}, {"recall of neighbours", r.NeighbourRecall10},
		} {
			if !finite(m.value) || m.value < 0 || m.value > 1+1e-9 {
				return message.New("number-out-of-range", "result %d (%s, %d bits): %s is %v: it should be from 0 to 1", i+1,
					r.Method, r.Bits, m.name, m.value)
			}
		}
	}
	return nil
}

// marginsMAP returns the MAP ranked by margins, or 0 if not measured.
func marginsMAP(r eval.Row) float64 { return r.Margins.MAP }

// learnedMAP returns the MAP among training items, or 0 if not measured.
func learnedMAP(r eval.Row) float64 {
	if r.LearnedItems == nil {
		return 0
	}
	if r.Rank != "" {
		return r.LearnedItems.Ranked.MAP
	}
	return r.LearnedItems.MAP
}

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

// tiles returns the key numbers of the recommended result, compared with the best search without codes.
func (d Data) tiles() []tile {
	i := slices.IndexFunc(d.Rows, func(r eval.Row) bool { return r.Recommended })
	if i < 0 {
		return nil
	}
	r := d.Rows[i]
	var plain *eval.Row // the best without a code
	for k, c := range d.Rows {
		if k != i && c.Kind == eval.KindReference && c.Bits == 0 && (plain == nil || d.quality(c) > d.quality(*plain)) {
			plain = &d.Rows[k]
		}
	}
	beside := func(measure func(eval.Row) float64, format func(float64) string) string {
		if plain == nil || measure(*plain) == 0 {
			return ""
		}
		return plain.Method + ": " + format(measure(*plain))
	}
	name := r.Method
	if r.Bits > 0 {
		name = fmt.Sprintf("%s, %d bits", r.Method, r.Bits)
	}
	switch r.Rank {
	case eval.ByMargins:
		name += " ranked by margins"
	case eval.ByExpected:
		name += " ranked by the expected code"
	}
	of := ""
	if d.Dataset.New > 0 {
		of = ", new items"
	}
	tiles := []tile{{formatShare(d.quality(r)), d.measure() + " of " + name + of, beside(d.quality, formatShare)}}
	if !d.unjudged() {
		if d.Dataset.New > 0 {
			tiles = append(tiles, tile{formatShare(learnedMAP(r)), "MAP, learned items", beside(learnedMAP, formatShare)})
		}
		tiles = append(tiles, tile{formatShare(precision(r)), "precision of the first items", beside(precision, formatShare)})
		if nearest(r) > 0 {
			tiles = append(tiles, tile{formatShare(nearest(r)), "nearest of its class in the first ten",
				beside(nearest, formatShare)})
		}
	}
	if r.Bytes > 0 {
		tiles = append(tiles, tile{Number(float64(r.Bytes)), "bytes per item",
			beside(func(r eval.Row) float64 { return float64(r.Bytes) }, Number)})
	}
	if r.TrainSeconds > 0 {
		tiles = append(tiles, tile{Value: formatQuantity(r.TrainSeconds) + " s", Name: "to learn"})
	}
	if r.EncodeMicroseconds > 0 {
		tiles = append(tiles, tile{Value: formatQuantity(r.EncodeMicroseconds) + " µs", Name: "to encode a vector"})
	}
	return tiles
}
