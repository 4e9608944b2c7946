package compare

import (
	"bytes"
	_ "embed" // the template and the style
	"html/template"
	"io"
	"strings"
	"time"

	"hashgrove/internal/compare/report"
	"hashgrove/internal/eval"
	"hashgrove/internal/fileio"
	"hashgrove/internal/par"
)

// The page is a single HTML file with the table and plots. It has no scripts and loads nothing from the network, so it
// opens from disk and prints well.

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

var page = template.Must(template.New("page").Parse(pageHTML))

// view is a result prepared for the template, which only loops and prints.
type view struct {
	*Result
	CSS              template.CSS
	Heading, Command string
	When             string // and on which machine
	Head             []string
	Lines            []line
	Overview         string // its heading
	Bars             []bar
	Plot             template.HTML // of the lengths; "" where there is one
}

// bar is a row of the overview.
type bar struct {
	*eval.Row
	Title   string
	MAP     float64
	Percent int // of the width
}

// line is a row of the table.
type line struct {
	*eval.Row
	Title string
	Cells []string // without the method
}

// WriteFile writes the comparison to a page of HTML, with plots. Command is what made it.
func (r *Result) WriteFile(path, heading, command string) error {
	return fileio.WriteFile(path, func(w io.Writer) error { return r.Write(w, heading, command) })
}

// Write is like WriteFile.
func (r *Result) Write(w io.Writer, heading, command string) error {
	v := view{Result: r, CSS: template.CSS(report.CSS + pageCSS), Heading: heading, Command: command}
	v.When = strings.TrimSuffix(time.Now().Format("2 January 2006, 15:04 MST")+" · "+par.Description(), " · ")
	head, rows := r.table(true)
	v.Head = head[1:]
	for i, cells := range rows {
		v.Lines = append(v.Lines, line{&r.Rows[i], title(r.Rows[i].Method), cells[1:]})
	}
	v.draw()
	var b bytes.Buffer // so that nothing is written if the template fails
	if err := page.Execute(&b, v); err != nil {
		return err
	}
	_, err := w.Write(b.Bytes())
	return err
}
