package compare

import (
	"strings"
	"time"

	"hashgrove/internal/compare/report"
)

// Page holds what only the caller knows about a report.
type Page struct {
	Title   string
	Date    time.Time
	Machine string
	Command string
}

// Report returns the comparison as a report page.
func (r *Result) Report(page Page) report.Data {
	out := report.Data{
		Title: page.Title, Date: page.Date, Version: r.Version, Machine: page.Machine, Command: page.Command,
		Warnings: r.Warnings, Dataset: r.Data, By: r.by(),
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
