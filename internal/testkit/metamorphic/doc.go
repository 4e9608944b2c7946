// Package metamorphic holds a test alone: random operations on indexes of every layout, in memory and in files, after
// which all of them must answer all questions alike, and as a plain list of items does (package searchtest).
//
//	sequence   what is done, one step after the other, as lines of JSON that can be read, kept and run again
//	generator  makes a sequence from a seed
//	oracle     the definition: a map of items that is gone through for every question
//	layout     an index under test; some of them see the same items in another guise
//	runner     does the steps with all layouts and compares
//	shrinker   makes a failing sequence as small as it gets
package metamorphic
