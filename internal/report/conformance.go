package report

import (
	_ "embed" // the page
	"html/template"
	"io"
	"strconv"
	"time"

	"hashgrove/internal/plot"
	"hashgrove/internal/section"
)

// ConformancePage shows where an engine's answers differ from those of an exact index, and why.
type ConformancePage struct {
	Title    string
	Date     time.Time // zero hides it
	Command  string    // that made the page, or ""
	Version  string
	Verdict  string // in a sentence
	Good     bool   // the verdict is good
	Facts    []NamedText
	Notes    []string
	Searches []ConformanceSearch
	Causes   []ConformanceCause
	Answers  []ConformanceAnswer
	Commands []NamedText // of the engine itself, with what each is for
}

// ConformanceSearch is the outcome of one kind of search.
type ConformanceSearch struct {
	Search  string
	Queries int
	Hits    int
	Recall  float64
	Same    int    // queries with the same answer
	Ties    int    // queries where only ties differ
	Differ  int    // the others
	Tied    int    // queries where a tie is cut off
	Refused string // why there is no outcome, or ""
}

// Share formats the recall; it never shows 1 if something is missing.
func (s ConformanceSearch) Share() string {
	text := strconv.FormatFloat(s.Recall, 'f', 4, 64)
	if text == "1.0000" && s.Recall < 1 {
		return "0.9999"
	}
	return text
}

// Bar returns the recall as the length of a bar.
func (s ConformanceSearch) Bar() template.CSS { return barLength(s.Recall) }

// ConformanceCause is a cause of differences with its first examples.
type ConformanceCause struct {
	Cause, Meaning string
	Count          int
	Differences    []ConformanceDifference
}

// Left returns the number of differences not shown.
func (c ConformanceCause) Left() int { return c.Count - len(c.Differences) }

// ConformanceDifference is one place where the answers differ; Search, Query and Item may be empty.
type ConformanceDifference struct{ Search, Query, Item, Text string }

// ConformanceAnswer holds both answers to a query, side by side.
type ConformanceAnswer struct {
	Search, Query string
	Outcome       string // in words
	Good          bool
	Rows          []ConformanceRank
}

// ConformanceRank holds what both answers have at one rank; "" for nothing.
type ConformanceRank struct {
	Ours, OurDistance     string
	Theirs, TheirDistance string
	Same                  bool
}

//go:embed conformance.html
var conformanceHTML string

var conformancePage = newPage(conformanceHTML, template.FuncMap{
	"count": func(n int) string { return plot.Number(float64(n)) },
	"next":  func(n int) int { return n + 1 },
})

// WriteConformance writes a page about an engine.
func WriteConformance(w io.Writer, p ConformancePage) error {
	f := frame{
		Title: p.Title, Command: p.Command, Version: p.Version, When: formatDate(p.Date), Long: true, Facts: p.Facts, Page: p,
	}
	return f.write(w, conformancePage)
}

// WriteConformanceFile writes the page to a file, replacing it only once the page is complete.
func WriteConformanceFile(path string, p ConformancePage) error {
	return section.WriteFile(path, func(w io.Writer) error { return WriteConformance(w, p) })
}
