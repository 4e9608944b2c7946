package feature

import "fmt"

// ColumnName says what a column of an extractor's vectors is about, such as "edges in row 2, column 3 of 4 x 4, scale
// 1, direction 5 of 8", or "" where there is nothing to say. All counts begin with 1, the finest scale first.
func ColumnName(e Extractor, column int) string {
	if column < 0 || column >= e.Dim() {
		return ""
	}
	if gist, ok := e.(*GIST); ok {
		return gist.columnName(column)
	}
	return ""
}

func (e *GIST) columnName(column int) string {
	side := e.o.Blocks
	filter, block := column/(side*side), column%(side*side)
	scale := 0
	for filter >= e.o.Orientations[scale] {
		filter -= e.o.Orientations[scale]
		scale++
	}
	return fmt.Sprintf("edges in %s, scale %d, direction %d of %d", // blocks are in order of their columns
		place(block%side, block/side, side), scale+1, filter+1, e.o.Orientations[scale])
}

// place names a part of a picture that is divided into side rows and columns.
func place(row, column, side int) string {
	if side == 1 {
		return "the whole picture"
	}
	return fmt.Sprintf("row %d, column %d of %d x %d", row+1, column+1, side, side)
}
