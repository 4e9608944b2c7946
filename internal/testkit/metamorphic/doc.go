// Package metamorphic consists of one test: it applies random operations to indexes of every layout, in memory and in
// files, and checks that all of them answer all questions alike, and like a plain list of items (package searchtest).
//
//	sequence   the steps, as lines of JSON that can be read, kept and run again
//	generator  makes a sequence from a seed
//	oracle     the definition: a map of items, searched in full for every question
//	layout     an index under test; some hold the same items in another guise
//	runner     applies the steps to all layouts and compares
//	shrinker   makes a failing sequence as small as possible
package metamorphic
