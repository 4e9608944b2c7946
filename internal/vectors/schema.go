package vectors

// Schema is what a source knows about its rows besides the rows themselves. Sources that are made from others hand it
// on, with what they change, so that it reaches whoever learns from the rows.
type Schema struct {
	Names   []string // of the columns; nil where they have none
	Missing bool     // NaN stands for a missing value

	// Column that the classes come from, by name or by number from 1; "" where they come from elsewhere.
	LabelColumn string

	// Columns that the user asked for by name: one that holds whole vectors, that of the classes, that of the tags. A
	// model remembers them, to read later files alike.
	Vector, Label, Tags string

	// Pictures is the *picture.Preparation of the pictures that the rows were made of, nil for other rows; see
	// picture.PreparationOf. Package picture builds on this one, so its type cannot be named here.
	Pictures any

	Files Files // account of the files that the rows are read from; nil where there are none
}

// Files is the account of a source that reads files and may leave out bad rows.
type Files interface {
	Bad() (rows int, examples []error) // left out by the latest pass
	Dropped() []int                    // the same, as the files count rows, ascending
	Warnings() []string                // doubts about the files
	Repeated(r Repeat) error           // why the row ends the pass, or nil when it is to be left out
	LeaveOut(rows []Repeat)            // from the latest pass's account and from every later pass
}

// Repeat is a row whose id an earlier row has; rows are counted as the files have them, from 0.
type Repeat struct {
	Row, First int
	ID         string
}
