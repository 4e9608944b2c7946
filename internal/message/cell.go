package message

import (
	"strconv"
	"strings"
)

// A spreadsheet runs a cell that begins like a formula, unless an apostrophe stands before it. So texts that begin like
// one, behind any apostrophes of their own, are written to CSV with one more, which reading takes off again.

// begins is what a formula begins with.
const begins = "=+-@\t\r\n"

// Cell returns what to write to CSV for a text.
func Cell(text string) string {
	if _, err := strconv.ParseFloat(text, 64); err != nil && isFormula(text) {
		return "'" + text
	}
	return text
}

// OfCell returns the text that was written as a cell of CSV.
func OfCell[T string | []byte](cell T) T {
	if len(cell) > 0 && cell[0] == '\'' && isFormula(string(cell)) {
		return cell[1:]
	}
	return cell
}

// Cells returns what to write to CSV for the texts of a line.
func Cells(texts []string) []string {
	cells := make([]string, len(texts))
	for i, text := range texts {
		cells[i] = Cell(text)
	}
	return cells
}

func isFormula(text string) bool {
	text = strings.TrimLeft(text, "'")
	return text != "" && strings.IndexByte(begins, text[0]) >= 0
}
