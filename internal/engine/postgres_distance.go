package engine

import (
	"fmt"
	"strings"

	"hashgrove/internal/hamming"
)

// distanceSQL returns the distance of two bit strings: the number of bits that differ, or for codes with detail the
// weighted distance in sixteenths of a bit.
func (s shape) distanceSQL(a, b string) string {
	if s.detail == 0 {
		return fmt.Sprintf("bit_count(%s # %s)", a, b)
	}
	return fmt.Sprintf("%d * %s + %d * bit_count(substring(%s # %s from %d))", hamming.BitUnits, s.classSQL(a, b),
		hamming.DetailUnits, a, b, s.class()+1)
}

// classSQL returns the number of class bits that differ.
func (s shape) classSQL(a, b string) string {
	if s.detail == 0 {
		return fmt.Sprintf("bit_count(%s # %s)", a, b)
	}
	return fmt.Sprintf("bit_count(substring(%s # %s from 1 for %d))", a, b, s.class())
}

// spreadSQL returns the spread code of a bit string, which pgvector can index.
func (s shape) spreadSQL(code string) string {
	if s.detail == 0 {
		return code
	}
	class := fmt.Sprintf("substring(%s from 1 for %d) || ", code, s.class())
	return fmt.Sprintf("((%ssubstring(%s from %d))::bit(%d))", strings.Repeat(class, repeats), code, s.class()+1, s.wide())
}

// nearSQL returns the distance by which the index of pgvector orders; for codes with detail in eighths of a bit.
func (s shape) nearSQL(query string) string {
	return s.spreadSQL("code") + " <~> " + s.spreadSQL(query)
}
