package paper

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"hashgrove/internal/machine"
	"hashgrove/internal/plot"
	"hashgrove/internal/section"
)

// Table is the result of an experiment.
type Table struct {
	Title    string
	Note     string // what the columns mean and what differs from the paper
	Head     []string
	Rows     [][]string
	Failures []string // why each failed row failed
	NotRun   []string // rows of methods that were not chosen and are not in the cache
	Figures  []figure `json:"-"`

	values []result // behind the rows, where they are of results
}

// figure is a plot of what the table says.
type figure struct {
	Name string // of its file, without an ending
	Plot plot.Figure
}

// Markdown writes the table with how it came about. Links to figures are to files beside it; see WriteFigures.
func (t *Table) Markdown(w io.Writer, command string, now time.Time) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s, %s, `%s`\n\n", t.Title, now.Format("2006-01-02"), machine.Description(), command)
	fmt.Fprintf(&b, "| %s |\n|%s\n", strings.Join(t.Head, " | "), strings.Repeat("---|", len(t.Head)))
	for _, row := range t.Rows {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
	}
	fmt.Fprintf(&b, "\n%s\n", t.Note)
	if len(t.Failures) > 0 {
		fmt.Fprintf(&b, "\nFailed:\n\n- %s\n", strings.Join(t.Failures, "\n- "))
	}
	if len(t.NotRun) > 0 {
		fmt.Fprintf(&b, "\nNot run yet: %s.\n", strings.Join(t.NotRun, "; "))
	}
	for _, f := range t.Figures {
		fmt.Fprintf(&b, "\n![%s](%s.svg)\n", f.Plot.Heading(), f.Name)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteFigures writes the figures as SVG files into a folder.
func (t *Table) WriteFigures(dir string) error {
	for _, f := range t.Figures {
		err := section.WriteFile(filepath.Join(dir, f.Name+".svg"),
			func(w io.Writer) error { return plot.WriteSVG(w, f.Plot) })
		if err != nil {
			return err
		}
	}
	return nil
}

// number prints a value, or a dash where there is none.
func number(format string, v float64) string {
	if v == 0 {
		return "-"
	}
	return fmt.Sprintf(format, v)
}
