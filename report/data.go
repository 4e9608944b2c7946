// Package report turns the evaluation of several hashing methods into one page for people to read: a single HTML
// file with tables and plots, without scripts or links to the network, which opens from disk and prints well.
//
//	Data       the content of the page, filled in by the caller
//	Write      Data -> HTML
//	WriteFile  Data -> HTML file
//
// The same data always give the same bytes. Sections that Data has nothing for are left out: without pictures, classes
// or objectives the page is shorter.
package report

import (
	"time"

	"hashgrove/eval"
)

// Data is the content of a report. Everything except Title and Rows may be left empty.
type Data struct {
	Title   string
	Date    time.Time // when the numbers were measured; shown as given, in its own zone
	Version string    // of the program
	Machine string    // processor, cores, memory: what the seconds depend on
	Command string    // the command line that reproduces the report
	Dataset Dataset

	// Advice is the conclusion in words. The first sentence becomes the headline of the page.
	Advice []string
	// Warnings are reservations about the numbers, as in eval.Report.Warnings; duplicates are shown once.
	Warnings []string

	// Rows has one entry for each method and code length, in any order. Method is the name as the page shows it. Bits
	// is 0 without a code, as for float search: such rows are compared with every length.
	Rows []eval.Row
	// Bits is the code length at which methods are compared in curves, classes and the overview. 0 means that of the
	// recommended row or, if there is none, the length with the most rows, and the longer one among equals.
	Bits int

	Searches   []Example // queries with their nearest items, best as pictures
	Confusions Confusions
}

// Dataset describes the data that were searched.
type Dataset struct {
	Name    string   `json:"name"`     // usually the file
	Base    int      `json:"base"`     // items to find
	Queries int      `json:"queries"`  // items to search with
	Dim     int      `json:"dim"`      // numbers in a vector
	Classes int      `json:"classes"`  // 0 when similarity is not by class
	Similar string   `json:"similar"`  // what makes two items similar: "same class", "2 or more shared tags"
	HeldOut []string `json:"held_out"` // classes that no training saw, for UnseenMAP
	Digest  string   `json:"digest"`   // of both parts; the page does not show it
	Notes   []string `json:"-"`        // anything else worth a line
}

// Example is one query and the items that a method found for it, nearest first.
type Example struct {
	Method string
	Query  Picture
	Hits   []Hit
}

// Picture is an item as shown on the page. Without a PNG only its name and label are shown.
type Picture struct {
	PNG   []byte // an encoded PNG of at most 256 KiB; small ones are enlarged without smoothing
	Name  string // id or row number
	Label string // class or tags
}

// Hit is a found item.
type Hit struct {
	Picture
	Distance string // "3", "0.71"; empty hides it
	Right    bool   // relevant to the query
}

// Confusions lists the classes that a method confuses.
type Confusions struct {
	Method string
	Top    int // number of nearest items of each query that were counted
	Pairs  []eval.Confusion
}
