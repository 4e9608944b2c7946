// Package report turns the evaluation of several hashing methods into one page for people to read: a single HTML
// file with tables and plots, without scripts or links to the network, which opens from disk and prints well.
//
//	Data       the content of the page, filled in by the caller
//	Write      Data -> HTML
//	WriteFile  Data -> HTML file
//	UsageOf    codes -> how they use their bits, for Result.Usage
//
// The same data always give the same bytes. Sections that Data has nothing for are left out: without pictures, classes
// or objectives the page is shorter.
package report

import (
	"time"

	"hashgrove/eval"
)

// Data is the content of a report. Everything except Title and Results may be left empty.
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

	// Results has one entry for each method and code length, in any order.
	Results []Result
	// Bits is the code length at which methods are compared in curves, classes and the overview. 0 means that of the
	// recommended result or, if there is none, the length with the most results, and the longer one among equals.
	Bits int

	Searches   []Search // queries with their nearest items, best as pictures
	Confusions Confusions
}

// Dataset describes the data that were searched.
type Dataset struct {
	Name    string   // usually the file
	Base    int      // items to find
	Train   int      // items that training saw, where that is not the base
	Queries int      // items to search with
	Dim     int      // numbers in a vector
	Classes int      // 0 when similarity is not by class
	Similar string   // what makes two items similar: "same class", "2 or more shared tags"
	HeldOut []string // classes that no training saw, for UnseenMAP
	Notes   []string // anything else worth a line
}

// Kind distinguishes methods from the reference points that they are measured against.
type Kind int

// The kinds of results.
const (
	Method  Kind = iota
	Floor        // what trivial codes reach: random codes, signs of the centred features
	Ceiling      // not a code of this length: float search, the output of a classifier
)

// Result is one method at one code length. UnseenMAP and the fields from TrainSeconds on are optional: 0 means that the
// number is missing and is shown as a dash.
type Result struct {
	Method      string
	Kind        Kind
	Bits        int // of a code; 0 without a code, as for float search: such results are compared with every length
	Supervised  bool
	Recommended bool // the result that Advice recommends; at most one

	MAP, MAPLow, MAPHigh float64 // expected, and with the worst and best order of ties; both bounds 0: no ties
	Precision100         float64
	PRArea               float64
	UnseenMAP            float64

	TrainSeconds       float64
	EncodeMicroseconds float64 // for one vector on one core
	BytesPerItem       float64
	DistinctCodes      int

	// Curves and classes, for the plots and the table of classes. A few hundred points per curve are enough.
	PRCurve   []eval.PRPoint
	Retrieved []eval.CurvePoint // precision against items retrieved; eval.Report.CurvePoints
	Objective []float64         // after each bit of training, from bit 1
	Usage     Usage
	Classes   []eval.Class // in any order; joined by Name
}

// Usage describes how the codes of the base use their bits. UsageOf computes it.
type Usage struct {
	Buckets []Bucket  // of rising size
	Ones    []float64 // by bit: share of items in which it is 1
}

// Bucket counts the distinct codes that are shared by a given number of items.
type Bucket struct {
	Size  int // number of items with the same code
	Codes int // number of distinct codes with that many items
}

// Search is one query and the items that a method found for it, nearest first.
type Search struct {
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
	Pairs  []Confusion
}

// Confusion says how often queries of one class found items of another.
type Confusion struct {
	Query, Found string
	Share        float64 // of the nearest Top items of all queries of the class, from 0 to 1
}
