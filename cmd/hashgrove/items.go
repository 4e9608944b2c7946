package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/pflag"

	"hashgrove/dataset"
	"hashgrove/hamming"
	"hashgrove/index"
	"hashgrove/internal/plain"
	"hashgrove/model"
	"hashgrove/vectors"
)

// itemFlags says which items go into an index.
type itemFlags struct {
	data       dataFlags
	attributes string
	columns    []string
}

// attributesHelp is what every verb that takes attributes says about them.
const attributesHelp = `--attributes names a table with a header (CSV, TSV), JSON lines or a Parquet file with more about the items, for
filters and answers: matched by id if it has a column id, or the one that --id-column names, and otherwise row by row.
Its columns label and tags fill in where the data have none. Text files may be compressed (gzip, zstd).`

func (i *itemFlags) bind(f *pflag.FlagSet) {
	i.data.bind(f, "")
	f.StringVar(&i.attributes, "attributes", "", "CSV, TSV, JSONL or Parquet `FILE` with attributes of the items, by id or by row")
	f.StringSliceVar(&i.columns, "attribute-columns", nil, "`COLUMNS` or keys to take from --attributes; default all")
	groupFlags(f, "Attributes")
}

// itemSource is items on their way into an index: rows that a model encodes, or code files.
type itemSource struct {
	paths []string
	bits  int
	about *dataset.Attributes // nil when there are none

	model *model.Model
	set   *dataset.Set
	src   vectors.Source

	batch *index.Batch
	named bool // the rows have ids
	bad   int  // rows left out
}

// open opens the data; without is why there is no model, where one is needed and missing.
func (i *itemFlags) open(m *model.Model, paths []string, without string) (*itemSource, error) {
	in := &itemSource{paths: paths}
	coded, err := codeFiles(paths)
	if err != nil {
		return nil, err
	}
	if coded {
		err = in.openCodes()
	} else if m == nil {
		err = usagef("%s: vectors need a model to encode them, and %s", paths[0], without)
	} else {
		in.model, in.bits = m, m.Encoder.Bits()
		threads, _ := i.data.flags.GetInt("threads")
		in.set, in.src, err = openFor(m, i.data, paths, threads)
	}
	if err != nil {
		return nil, err
	}
	if len(i.columns) > 0 && i.attributes == "" {
		return nil, usagef("--attribute-columns chooses from a file that --attributes names")
	}
	if i.attributes != "" {
		if in.about, err = dataset.ReadAttributes(i.attributes, i.data.id, i.columns); err != nil {
			return nil, err
		}
	}
	return in, nil
}

// openCodes looks at the header of the first code file.
func (in *itemSource) openCodes() error {
	f, err := plain.Open(in.paths[0])
	if err != nil {
		return err
	}
	defer f.Close()
	r, err := hamming.NewReader(f)
	if err != nil {
		return fmt.Errorf("%s: %w", in.paths[0], err)
	}
	in.bits = r.Bits
	return nil
}

// count tells how many items there are, reading all rows where nothing less does; such a pass finds what is wrong with
// them, too.
func (in *itemSource) count(ctx context.Context, a *app) (int, error) {
	if in.set != nil {
		if n := in.set.Rows(); n >= 0 {
			return n, nil
		}
		sum, err := a.scan(ctx, in.set, false)
		if err != nil {
			return 0, err
		}
		return sum.Rows, nil
	}
	n := 0
	return n, in.eachCodes(func(codes hamming.Codes, _ []string, _ hamming.Fingerprint) error {
		n += codes.Len()
		return ctx.Err()
	})
}

// eachCodes reads the code files in bounded memory.
func (in *itemSource) eachCodes(take func(codes hamming.Codes, ids []string, f hamming.Fingerprint) error) error {
	one := func(path string) error {
		f, err := plain.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		r, err := hamming.NewReader(f)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if r.Bits != in.bits {
			return fmt.Errorf("%s: codes of %d bits, but %s has %d", path, r.Bits, in.paths[0], in.bits)
		}
		for {
			codes, ids, err := r.Next()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			if err := take(codes, ids, r.Fingerprint); err != nil {
				return err
			}
		}
	}
	for _, path := range in.paths {
		if err := one(path); err != nil {
			return err
		}
	}
	return nil
}

// read returns the n items. An index is in memory anyway, and one batch is added as a whole or not at all.
func (in *itemSource) read(ctx context.Context, a *app, n int) (*index.Batch, error) {
	in.batch = &index.Batch{IDs: make([]index.ID, 0, n), Codes: hamming.NewCodes(0, in.bits)}
	in.batch.Codes.Data = make([]uint64, 0, n*in.batch.Codes.Words)
	p := a.start("encoding", n, 0)
	defer p.end()
	var err error
	if in.set == nil {
		first := true
		err = in.eachCodes(func(codes hamming.Codes, ids []string, f hamming.Fingerprint) error {
			if !first && f != in.batch.Fingerprint {
				return fmt.Errorf("codes of the models %v and %v: make an index of each", in.batch.Fingerprint, f)
			}
			in.batch.Fingerprint, first = f, false
			p.tick(len(in.batch.IDs) + codes.Len())
			return errors.Join(ctx.Err(), in.append(codes, vectors.Chunk{IDs: ids}))
		})
	} else {
		in.batch.Fingerprint = in.model.Fingerprint()
		err = in.model.EncodeSource(ctx, in.src, a.threads, func(first int, codes hamming.Codes, chunk vectors.Chunk) error {
			p.tick(first + codes.Len())
			return in.append(codes, chunk)
		})
		if bad, first := in.set.Bad(); err == nil && bad > 0 {
			in.bad = bad
			a.note("dropped %d bad rows, the first: %v", bad, first[0])
			if !in.named {
				a.warn([]string{"the rows have no ids, so they go by their numbers among the rows that were kept"})
			}
		}
	}
	if err != nil {
		return nil, err
	}
	if in.about != nil {
		if err := in.about.Check(len(in.batch.IDs)); err != nil {
			return nil, err
		}
	}
	return in.batch, nil
}

// attributeValues makes values of an index from attributes of a file.
func attributeValues(attributes []dataset.Attribute) map[string]index.Value {
	if len(attributes) == 0 {
		return nil
	}
	values := make(map[string]index.Value, len(attributes))
	for _, a := range attributes {
		if a.IsNumber {
			values[a.Name] = index.Number(a.Number)
		} else {
			values[a.Name] = index.String(a.Text)
		}
	}
	return values
}

// append adds rows to the batch.
func (in *itemSource) append(codes hamming.Codes, chunk vectors.Chunk) error {
	for i := range codes.Len() {
		row := len(in.batch.IDs)
		it := index.Item{ID: index.Int(int64(row)), Code: codes.Row(i)}
		if chunk.IDs != nil {
			in.named = true
			id, err := index.ParseID(chunk.IDs[i])
			if err != nil {
				return fmt.Errorf("%s: row %d: %w", in.paths[0], row, err)
			}
			it.ID = id
		}
		if chunk.Labels != nil {
			it.Label = chunk.Labels[i]
		}
		if chunk.Tags != nil {
			it.Tags = slices.Clone(chunk.Tags[i]) // the list is lent
		}
		if in.about != nil {
			d := in.about.Find(it.ID.String(), row)
			if it.Label == "" {
				it.Label = d.Label
			}
			if len(it.Tags) == 0 {
				it.Tags = d.Tags
			}
			it.Attributes = attributeValues(d.Attributes)
		}
		in.batch.Append(it)
	}
	return nil
}
