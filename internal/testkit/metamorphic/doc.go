// Package metamorphic contains one test: it applies random operations to indexes of every layout, in memory and in
// files, after which all of them must give the same answers as a plain list of items.
//
//	sequence   the steps, as lines of JSON that can be read, kept and run again
//	generator  makes a sequence from a seed
//	oracle     the definition: a map of items that every question goes through
//	layout     an index under test; some hold the same items in another form
//	runner     does the steps with all layouts and compares
//	shrinker   makes a failing sequence as small as possible
package metamorphic
