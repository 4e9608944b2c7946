package report

import (
	"bytes"
	_ "embed" // the frame
	"html/template"
	"io"
	"time"
)

// NamedText is a text with a name.
type NamedText struct{ Name, Text string }

// frame is what surrounds the content of every page: head, title, facts, and how the page was made.
type frame struct {
	Title, Command, Version string
	When                    string // and on which machine
	Long                    bool   // add a table of contents and a skip link
	Facts                   []NamedText
	Page                    any // for the templates of the content
}

//go:embed frame.html
var frameHTML string

//go:embed page.css
var pageCSS string

// CSS returns the style of all pages.
func (frame) CSS() template.CSS { return template.CSS(chartCSS + pageCSS) } // both are ours

// newPage parses the content of a page: a template main and optionally sections, notes and more.
func newPage(content string, functions template.FuncMap) *template.Template {
	t := template.Must(template.New("frame").Funcs(functions).Parse(frameHTML))
	return template.Must(t.New("content").Parse(content))
}

// write writes the page, or nothing if a template fails.
func (f frame) write(w io.Writer, page *template.Template) error {
	var b bytes.Buffer
	if err := page.ExecuteTemplate(&b, "frame", f); err != nil {
		return err
	}
	_, err := w.Write(b.Bytes())
	return err
}

// formatDate formats a date; "" for the zero time.
func formatDate(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format("2 January 2006, 15:04 MST")
}
