package vectors

// Schema describes the rows of a source. Sources made from other sources pass it on, with their changes, so that it
// reaches whatever learns from the rows.
type Schema struct {
	Names   []string // of the columns; nil if they have none
	Missing bool     // NaN means a missing value

	// Vector, Label and Tags are the columns the user named: one that holds whole vectors, one for the classes, one for
	// the tags. A model remembers them, to read later files the same way.
	Vector, Label, Tags string

	// Pictures is the *picture.Preparation of the pictures that the rows were made from, or nil; see
	// picture.PreparationOf. Package picture imports this one, so its type cannot be named here.
	Pictures any

	Files Files // the files that the rows are read from; nil if there are none
}

// Files describes the files behind a source, which may skip bad rows.
type Files interface {
	Bad() (rows int, examples []error) // skipped by the latest pass
	Dropped() []int                    // the same rows by their numbers in the files, ascending
	Warnings() []string                // doubts about the files
	Repeated(r Repeat) error           // returns nil if the row should be skipped, or the error that ends the pass
	LeaveOut(rows []Repeat)            // skips rows in every later pass, and in the latest pass's counts
}

// Repeat is a row whose id already occurred in an earlier row; rows are numbered as in the files, from 0.
type Repeat struct {
	Row, First int
	ID         string
}
