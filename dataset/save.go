package dataset

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"hashgrove/internal/section"
	"hashgrove/vectors"
)

// Saved is what SaveNpy wrote.
type Saved struct {
	Rows   int
	Labels string // file with one label per row, "" when the source has none
	Tags   string // likewise, tags separated by commas
	IDs    string // likewise
}

// SaveNpy writes the vectors of a source to a NumPy file and what is known about their rows to text files beside it:
// out.npy has out.labels.txt, out.tags.txt and out.ids.txt. For Uint8 the source is read twice, since bins need the
// ranges. Progress, which may be nil, is called after every chunk with the rows so far.
func SaveNpy(
	ctx context.Context, src vectors.Source, path string, kind NpyType, progress func(rows int),
) (Saved, error) {
	var saved Saved
	var q vectors.Quantizer
	if kind == Uint8 {
		ranges, err := vectors.RangesOf(ctx, src)
		if err != nil {
			return saved, err
		}
		if q, err = ranges.Quantizer(); err != nil {
			return saved, err
		}
	}
	out, err := createNpy(path, kind, src.Dim(), q)
	if err != nil {
		return saved, err
	}
	var labels, tags, ids strings.Builder
	for c, err := range src.Chunks(ctx) {
		if err == nil {
			err = out.Write(c.X)
		}
		if err != nil {
			out.Abort()
			return saved, err
		}
		for _, label := range c.Labels {
			fmt.Fprintln(&labels, label)
		}
		for _, row := range c.Tags {
			fmt.Fprintln(&tags, strings.Join(row, ","))
		}
		for _, id := range c.IDs {
			fmt.Fprintln(&ids, id)
		}
		saved.Rows = c.First + c.X.Rows
		if progress != nil {
			progress(saved.Rows)
		}
	}
	stem := strings.TrimSuffix(path, filepath.Ext(path))
	for _, side := range []struct {
		name string
		text *strings.Builder
		path *string
	}{{"labels", &labels, &saved.Labels}, {"tags", &tags, &saved.Tags}, {"ids", &ids, &saved.IDs}} {
		if side.text.Len() == 0 {
			continue
		}
		*side.path = stem + "." + side.name + ".txt"
		err := section.WriteFile(*side.path, func(w io.Writer) error {
			_, err := io.WriteString(w, side.text.String())
			return err
		})
		if err != nil {
			out.Abort()
			return saved, err
		}
	}
	return saved, out.Close() // last, so that a file of vectors never lacks the files beside it
}
