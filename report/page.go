package report

import (
	"bytes"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"image/png"
	"io"
	"slices"
	"strings"

	"hashgrove/eval"
	"hashgrove/internal/plot"
	"hashgrove/internal/section"
)

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

var page = template.Must(template.New("report").Parse(pageHTML))

// largestPNG limits the size of a picture: a page with hundreds of them must stay small enough to mail.
const largestPNG = 256 << 10

// view is Data prepared for the template, which only loops and prints.
type view struct {
	Data
	CSS      template.CSS
	When     string
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
	Mixups   []mixup
	Searches []searchGroup
}

type fact struct{ Name, Value string }

type tile struct{ Value, Name, Note string }

// drawing is a plot with its numbers as a table.
type drawing struct {
	ID, Title, Caption string
	SVG                template.HTML
	Head               []string
	Rows               [][]string
}

type searchGroup struct {
	Method   string
	Searches []shownSearch
}

type shownSearch struct {
	Query      shownPicture
	Hits       []shownHit
	Right, All int
}

type shownPicture struct {
	Picture
	URL template.URL // empty without a PNG
	Alt string
}

type shownHit struct {
	shownPicture
	Distance string
	Right    bool
}

// Write writes the page.
func Write(w io.Writer, d Data) error {
	if err := d.validate(); err != nil {
		return err
	}
	v := view{
		Data: d,
		CSS:  template.CSS(plot.CSS() + pageCSS), // both are ours
	}
	if !d.Date.IsZero() {
		v.When = d.Date.Format("2 January 2006, 15:04 MST")
	}
	v.Facts = d.facts()
	if len(d.Advice) > 0 {
		v.Headline, v.Advice = d.Advice[0], d.Advice[1:]
	}
	v.Tiles = d.tiles()
	for i, f := range d.figures() {
		g := newDrawing(f, fmt.Sprintf("plot%d", i))
		if _, ok := f.plot.(plot.Bars); ok {
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
	v.Columns = d.columns()
	v.Span = len(v.Columns) + 1
	v.Groups = d.groups(v.Columns)
	for _, w := range d.Warnings {
		if !slices.Contains(v.Warnings, w) {
			v.Warnings = append(v.Warnings, w)
		}
	}
	v.Classes = d.classes()
	v.Mixups = d.mixups()
	v.Searches = d.searches()

	var b bytes.Buffer // so that an error of the template leaves no partial page
	if err := page.Execute(&b, v); err != nil {
		return err
	}
	_, err := w.Write(b.Bytes())
	return err
}

// WriteFile writes the page to a file, which is replaced only when the page is complete.
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
		return errors.New("the report has no title: say what was compared")
	}
	if len(d.Rows) == 0 {
		return errors.New("the report has no results: judge at least one method")
	}
	recommended := 0
	for i, r := range d.Rows {
		where := fmt.Sprintf("result %d (%s, %d bits)", i+1, r.Method, r.Bits)
		for _, m := range []measure{
			{"MAP", r.MAP}, {"lower bound of MAP", r.MAPLow}, {"upper bound of MAP", r.MAPHigh},
			{"precision@100", r.Precision100}, {"PR area", r.PRArea}, {"unseen-class MAP", r.UnseenMAP},
		} {
			if !finite(m.value) || m.value < 0 || m.value > 1+1e-9 {
				return fmt.Errorf("%s: %s is %v: it should be from 0 to 1", where, m.name, m.value)
			}
		}
		for _, m := range []measure{
			{"training time", r.TrainSeconds}, {"encoding time", r.EncodeMicroseconds},
			{"size of an item", float64(r.Bytes)},
		} {
			if !finite(m.value) || m.value < 0 {
				return fmt.Errorf("%s: %s is %v: it should be 0 (not measured) or more", where, m.name, m.value)
			}
		}
		kinds := []eval.Kind{eval.KindMethod, eval.KindFloor, eval.KindCeiling}
		if r.Bits < 0 || !slices.Contains(kinds, r.Kind) {
			return fmt.Errorf("%s: there is no such code length or kind %q", where, r.Kind)
		}
		if r.Recommended {
			recommended++
		}
	}
	if recommended > 1 {
		return fmt.Errorf("%d results are recommended: choose one", recommended)
	}
	for i, s := range d.Searches {
		if err := s.Query.validate(); err != nil {
			return fmt.Errorf("search %d: the query: %w", i+1, err)
		}
		for k, h := range s.Hits {
			if err := h.validate(); err != nil {
				return fmt.Errorf("search %d, result %d: %w", i+1, k+1, err)
			}
		}
	}
	return nil
}

func (p Picture) validate() error {
	if len(p.PNG) == 0 {
		return nil
	}
	if len(p.PNG) > largestPNG {
		return fmt.Errorf("the picture %s has %d bytes: make it smaller than %d", p.Name, len(p.PNG), largestPNG)
	}
	if _, err := png.DecodeConfig(bytes.NewReader(p.PNG)); err != nil {
		return fmt.Errorf("the picture %s is not a PNG: %w", p.Name, err)
	}
	return nil
}

func (d Data) facts() []fact {
	s := d.Dataset
	var facts []fact
	add := func(name, value string) {
		if value != "" {
			facts = append(facts, fact{name, value})
		}
	}
	number := func(n int, what string) string {
		if n == 0 {
			return ""
		}
		return plot.Number(float64(n)) + what
	}
	add("Data", s.Name)
	add("Items to find", number(s.Base, ""))
	add("Queries", number(s.Queries, ""))
	add("Vector", number(s.Dim, " numbers"))
	add("Classes", number(s.Classes, ""))
	add("Similar means", s.Similar)
	return facts
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
		if k != i && c.Kind == eval.KindCeiling && c.Bits == 0 && (plain == nil || c.MAP > plain.MAP) {
			plain = &d.Rows[k]
		}
	}
	beside := func(v float64, format func(float64) string) string {
		if plain == nil || v == 0 {
			return ""
		}
		return plain.Method + ": " + format(v)
	}
	name := r.Method
	if r.Bits > 0 {
		name = fmt.Sprintf("%s, %d bits", r.Method, r.Bits)
	}
	tiles := []tile{
		{Value: formatShare(r.MAP), Name: "MAP of " + name},
		{Value: formatShare(r.Precision100), Name: "precision of the first 100"},
	}
	if plain != nil {
		tiles[0].Note, tiles[1].Note = beside(plain.MAP, formatShare), beside(plain.Precision100, formatShare)
	}
	if r.Bytes > 0 {
		t := tile{Value: plot.Number(float64(r.Bytes)), Name: "bytes per item"}
		if plain != nil {
			t.Note = beside(float64(plain.Bytes), plot.Number)
		}
		tiles = append(tiles, t)
	}
	if r.TrainSeconds > 0 {
		tiles = append(tiles, tile{Value: formatQuantity(r.TrainSeconds) + " s", Name: "to learn"})
	}
	if r.EncodeMicroseconds > 0 {
		tiles = append(tiles, tile{Value: formatQuantity(r.EncodeMicroseconds) + " µs", Name: "to encode a vector"})
	}
	return tiles
}

func newDrawing(f figure, id string) drawing {
	g := drawing{
		ID: id, Title: f.plot.Heading(), Caption: f.caption,
		SVG: template.HTML(plot.Inline(f.plot, id)), // plot escapes every text
	}
	if l, ok := f.plot.(plot.Lines); ok && !l.Direct {
		g.Head, g.Rows = l.Numbers()
	}
	return g
}

// searches groups consecutive searches of the same method.
func (d Data) searches() []searchGroup {
	var groups []searchGroup
	for _, s := range d.Searches {
		if n := len(groups); n == 0 || groups[n-1].Method != s.Method {
			groups = append(groups, searchGroup{Method: s.Method})
		}
		shown := shownSearch{Query: newShownPicture(s.Query), All: len(s.Hits)}
		for _, h := range s.Hits {
			shown.Hits = append(shown.Hits, shownHit{newShownPicture(h.Picture), h.Distance, h.Right})
			if h.Right {
				shown.Right++
			}
		}
		g := &groups[len(groups)-1]
		g.Searches = append(g.Searches, shown)
	}
	return groups
}

func newShownPicture(p Picture) shownPicture {
	s := shownPicture{Picture: p, Alt: strings.TrimSpace("picture " + p.Name)}
	if p.Label != "" {
		s.Alt += ": " + p.Label
	}
	if len(p.PNG) > 0 {
		s.URL = template.URL("data:image/png;base64," + base64.StdEncoding.EncodeToString(p.PNG)) // checked to be a PNG
	}
	return s
}
