package compare

import (
	"io"
	"strings"
	"time"

	"hashgrove/internal/compare/report"
	"hashgrove/internal/par"
)

// WriteFile writes the comparison to a page of HTML, with plots. Command is what made it.
func (r *Result) WriteFile(path, title, command string) error {
	return report.WriteFile(path, r.report(title, command))
}

// Write is like WriteFile.
func (r *Result) Write(w io.Writer, title, command string) error {
	return report.Write(w, r.report(title, command))
}

// report returns the content of the page.
func (r *Result) report(heading, command string) report.Data {
	out := report.Data{
		Title: heading, Date: time.Now(), Version: r.Version, Machine: par.Description(), Command: command,
		Warnings: r.Warnings, Dataset: r.Data,
	}
	if r.Scale != "" {
		out.Dataset.Notes = append(out.Dataset.Notes, strings.ToUpper(r.Scale[:1])+r.Scale[1:]+".")
	}
	out.Dataset.Notes = append(out.Dataset.Notes, r.Failures()...)
	for _, a := range r.Advice {
		out.Advice = append(out.Advice, a.Text)
	}
	for _, row := range r.Rows {
		if row.Error != "" {
			continue
		}
		if isFloat(&row) {
			row.Bits, row.DistinctCodes = 0, 0 // no codes
		}
		row.Method = title(row.Method)
		out.Rows = append(out.Rows, row)
	}
	return out
}
