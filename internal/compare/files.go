package compare

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"hashgrove"
	"hashgrove/internal/dataset"
	"hashgrove/internal/message"
	"hashgrove/internal/model/inside"
	"hashgrove/internal/picture"
	"hashgrove/internal/picture/feature"
	"hashgrove/internal/vectors"
)

// Files are data in files to compare on.
type Files struct {
	Name         string // for people
	Base         *hashgrove.Data
	New, Queries *hashgrove.Data // nil sets rows of the base aside

	MinShared int
	Pictures  hashgrove.PictureOptions // Size and Features
	Seed      uint64
	Threads   int
	Progress  func(rows int)
}

// Open reads the data and sets aside what is not named. Other files have the columns of the base, by name.
func (f Files) Open(ctx context.Context) (*Data, hashgrove.UsedColumns, error) {
	r := &reading{Files: f}
	all, err := r.open(ctx, f.Base)
	if err != nil {
		return nil, hashgrove.UsedColumns{}, err
	}
	all.MinShared = f.MinShared
	data := &Data{Name: f.Name, Base: all}
	if f.New != nil {
		if data.New, err = r.open(ctx, f.New); err != nil {
			return nil, hashgrove.UsedColumns{}, fmt.Errorf("new items: %w", err)
		}
	}
	if f.Queries == nil {
		data.Base, data.Queries, err = all.Split(0, f.Seed)
	} else if data.Queries, err = r.open(ctx, f.Queries); err != nil {
		err = fmt.Errorf("queries: %w", err)
	}
	c := r.base.Columns()
	return data, hashgrove.UsedColumns{Vector: c.Vector, Label: c.Label, Tags: c.Tags, ID: c.ID, Unused: c.Unused}, err
}

// reading is the work of Open.
type reading struct {
	Files
	base *dataset.Set         // nil while it is opened
	as   *picture.Preparation // of the base, and so of the others
}

func (r *reading) open(ctx context.Context, d *hashgrove.Data) (*Part, error) {
	set, err := r.openSet(inside.Spec(d))
	if err != nil {
		return nil, err
	}
	if r.base == nil {
		r.base = set
	}
	src := vectors.Source(set)
	if name := r.Pictures.Features; name != "" {
		pictures, ok := set.AsPictures()
		if !ok {
			return nil, message.New("needs-pictures", "--features needs pictures: folders, tars, CIFAR or IDX files")
		}
		e, err := feature.Named(name, pictures.Preparation().Shape)
		if err != nil {
			return nil, fmt.Errorf("--features: %w", err)
		}
		if src, err = feature.Vectors(e, pictures, r.Threads); err != nil {
			return nil, err
		}
	}
	r.as = picture.PreparationOf(src)
	return Read(ctx, src, r.Progress)
}

// openSet opens files with the columns of the base, by name.
func (r *reading) openSet(spec dataset.Spec) (*dataset.Set, error) {
	spec.Threads, spec.Pictures = r.Threads, r.as
	if r.base == nil {
		spec.Size = r.Pictures.Size
	}
	if r.base == nil || len(r.base.Names()) == 0 {
		return dataset.Open(spec)
	}
	c := r.base.Columns()
	spec.Vector = "" // it selected columns in the other data
	spec.Known = &c
	set, err := dataset.Open(spec)
	if err != nil || len(set.Names()) == 0 || slices.Equal(set.Names(), r.base.Names()) {
		return set, err
	}
	have := set.Names()
	missing := slices.DeleteFunc(slices.Clone(r.base.Names()), func(s string) bool { return slices.Contains(have, s) })
	return nil, message.New("columns-mismatch", "%s: its columns differ from those of %s; missing: %s",
		spec.Paths[0], r.base.Files()[0], cmp.Or(message.Runs(missing), "none, but there are extra ones"))
}
