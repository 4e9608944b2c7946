package feature

import (
	"errors"
	"fmt"
	"io/fs"

	"hashgrove/picture"
	"hashgrove/vectors"
)

// Named is the extractor of a name for pictures of a shape: gist320 and gist512, pixels, or the path of a file that
// WriteFile wrote.
func Named(name string, shape picture.Shape) (Extractor, error) {
	switch name {
	case "gist320":
		return NewGIST(GISTOptions{Size: shape.Width, Orientations: []int{8, 8, 4}, Blocks: 4})
	case "gist512":
		return NewGIST(GISTOptions{Size: shape.Width, Orientations: []int{8, 8, 8, 8}, Blocks: 4})
	case "pixels":
		return &Pixels{Width: shape.Width, Height: shape.Height, Channels: shape.Channels}, nil
	}
	e, err := ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%q is neither gist320, gist512 or pixels, nor a file with saved features", name)
	}
	return e, err
}

// keptBytes is the memory that vectors of pictures take at most between passes; more of them wait in a temporary file.
const keptBytes = 1 << 30

// Learnable is the vectors that the named extractor makes of pictures, mirror images after them if asked for, and the
// extractor. They are made once, however often they are read.
func Learnable(pictures picture.Source, name string, mirror bool, threads int) (*vectors.Kept, Extractor, error) {
	if mirror {
		pictures = picture.Mirrored(pictures)
	}
	e, err := Named(name, pictures.Preparation().Shape)
	if err != nil {
		return nil, nil, err
	}
	src, err := Vectors(e, pictures, threads)
	if err != nil {
		return nil, nil, err
	}
	return vectors.Keep(src, keptBytes), e, nil
}
