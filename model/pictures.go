package model

import (
	"hashgrove/feature"
	"hashgrove/picture"
	"hashgrove/vectors"
)

// Source is the source of vectors to encode: the source itself, or the features of its pictures when the model makes
// its own.
func (m *Model) Source(src vectors.Source, threads int) (vectors.Source, error) {
	pictures, ok := picture.Of(src)
	if m.Features == nil || !ok {
		return src, nil
	}
	return feature.Vectors(m.Features, pictures, threads)
}
