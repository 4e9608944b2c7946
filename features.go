package hashgrove

import (
	"context"

	"hashgrove/internal/dataset"
	"hashgrove/internal/message"
	"hashgrove/internal/picture"
	"hashgrove/internal/picture/feature"
)

// FeatureOptions say how to turn pictures into vectors.
type FeatureOptions struct {
	Kind     string         // "gist320", "gist512" or "pixels"
	Pictures PictureOptions // how pictures are prepared; Features and Mirror are not looked at
	Threads  int            // 0 means all cores

	Progress func(Step) // called from one goroutine; may be nil
}

// WrittenFeatures says what WriteFeatures wrote.
type WrittenFeatures struct {
	Rows, Dim int      // number of vectors, and their length
	Beside    []string // the files beside the vectors, with classes, tags or ids
}

// FeatureFiles returns the files that WriteFeatures may write for a path.
func FeatureFiles(path string) []string { return dataset.NpyFiles(path) }

// WriteFeatures turns pictures into vectors and writes them to a NumPy file; classes, tags and ids go to text files
// beside it.
func (d *Data) WriteFeatures(ctx context.Context, path string, o FeatureOptions) (*WrittenFeatures, error) {
	read := d.copied()
	read.spec.Threads = o.Threads
	rows, err := read.rows(o.Pictures, nil)
	if err != nil {
		return nil, err
	}
	pictures, ok := picture.Of(rows)
	if !ok {
		return nil, message.New("needs-pictures", "%s: rows of %d values are not known to be pictures; features reads "+
			"folders, tars, CIFAR and IDX files", d.name(), rows.Dim())
	}
	e, err := feature.Named(o.Kind, pictures.Preparation().Shape)
	if err != nil {
		return nil, badOption("kind", "%v", err)
	}
	src, err := feature.Vectors(e, pictures, o.Threads)
	if err != nil {
		return nil, err
	}
	set, inFiles := rows.(*dataset.Set)
	total := len(d.images)
	if inFiles {
		total = max(set.Rows(), 0)
	}
	wrote, err := dataset.SaveNpy(ctx, src, path, func(rows int) {
		steps(o.Progress).step("extracting", rows, total)
	})
	if err != nil {
		return nil, err
	}
	noteBad(set, o.Progress)
	w := &WrittenFeatures{Rows: wrote.Rows, Dim: e.Dim()}
	for _, path := range []string{wrote.Labels, wrote.Tags, wrote.IDs} {
		if path != "" {
			w.Beside = append(w.Beside, path)
		}
	}
	return w, nil
}
