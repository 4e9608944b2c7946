package beam

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/parquet-go/parquet-go"

	"hashgrove/internal/hamming"
)

// codeFile is a Parquet file of codes on its way through ReadCodes.
type codeFile struct {
	Path        string
	Rows, First int
	Shard       string // 00003-of-00008
	Bits        int
	Fingerprint string
	TotalRows   int // of all shards
}

func init() {
	beam.RegisterType(reflect.TypeFor[codeFile]())
	beam.RegisterType(reflect.TypeFor[lookFn]())
	beam.RegisterType(reflect.TypeFor[gatherFn]())
	beam.RegisterType(reflect.TypeFor[readFn]())
}

// ReadCodes reads Parquet files that Write wrote, all shards of them: a shard that is missing, there twice or of
// another model is an error. The codes come in runs of up to 100,000 rows.
func ReadCodes(ctx context.Context, s beam.Scope, patterns []string) (beam.PCollection, error) {
	var paths []string
	for _, pattern := range patterns {
		found, err := expand(ctx, pattern)
		if err != nil {
			return beam.PCollection{}, err
		}
		paths = append(paths, found...)
	}
	if len(paths) == 0 {
		return beam.PCollection{}, errors.New("no files of codes to read")
	}
	s = s.Scope("ReadCodes")
	files := beam.ParDo(s, &lookFn{}, beam.Reshuffle(s, beam.CreateList(s, paths)))
	checked := beam.ParDo(s, &gatherFn{}, beam.GroupByKey(s, beam.AddFixedKey(s, files)))
	return beam.ParDo(s, &readFn{}, beam.Reshuffle(s, checked)), nil
}

// AreCodes reports whether files are Parquet files that Write wrote, by the first of them.
func AreCodes(ctx context.Context, patterns []string) (bool, error) {
	if len(patterns) == 0 {
		return false, nil
	}
	paths, err := expand(ctx, patterns[0])
	if err != nil || !strings.HasSuffix(paths[0], ".parquet") {
		return false, err
	}
	f, done, err := openParquet(ctx, paths[0])
	if err != nil {
		return false, err
	}
	defer done()
	_, coded := f.Lookup(keyFingerprint)
	return coded, nil
}

// lookFn reads what a file says about itself.
type lookFn struct{}

// ProcessElement looks at one file.
func (*lookFn) ProcessElement(ctx context.Context, path string, emit func(codeFile)) error {
	f, done, err := openParquet(ctx, path)
	if err != nil {
		return err
	}
	defer done()
	out := codeFile{Path: path, Rows: int(f.NumRows())}
	var ok [5]bool
	number := func(key string, to *int) bool {
		text, found := f.Lookup(key)
		n, err := strconv.Atoi(text)
		*to = n
		return found && err == nil && n >= 0
	}
	ok[0], ok[1], ok[2] = number(keyBits, &out.Bits), number(keyFirst, &out.First), number(keyTotal, &out.TotalRows)
	out.Fingerprint, ok[3] = f.Lookup(keyFingerprint)
	out.Shard, ok[4] = f.Lookup(keyShard)
	if slices.Contains(ok[:], false) || out.Bits < 1 || out.Bits > 1<<16 {
		return fmt.Errorf("%s: is no file of codes: write one with the encode transform or hashgrove-beam encode", path)
	}
	emit(out)
	return nil
}

// openParquet opens a file; damage that makes the library panic is an error.
func openParquet(ctx context.Context, path string) (f *parquet.File, done func(), err error) {
	local, remove, err := localCopies(ctx, path)
	if err != nil {
		return nil, nil, err
	}
	in, err := os.Open(local[0])
	if err != nil {
		remove()
		return nil, nil, err
	}
	done = func() {
		in.Close()
		remove()
	}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
		if err != nil {
			done()
			err = fmt.Errorf("%s: is damaged or no Parquet file: %w", path, err)
		}
	}()
	info, err := in.Stat()
	if err != nil {
		return nil, nil, err
	}
	f, err = parquet.OpenFile(in, info.Size())
	return f, done, err
}

// gatherFn checks that the files are all shards of one encoding.
type gatherFn struct{}

// ProcessElement checks all files together.
func (*gatherFn) ProcessElement(_ int, files func(*codeFile) bool, emit func(codeFile)) error {
	var all []codeFile
	for one := (codeFile{}); files(&one); one = (codeFile{}) {
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b codeFile) int {
		if a.First != b.First {
			return a.First - b.First
		}
		return a.Rows - b.Rows // empty shards first
	})
	seen := map[string]string{}
	for _, f := range all {
		head := all[0]
		switch other, twice := seen[f.Shard]; {
		case f.Bits != head.Bits || f.Fingerprint != head.Fingerprint:
			return fmt.Errorf("%s has codes of model %.16s, and %s of %.16s: encode all with one model",
				head.Path, head.Fingerprint, f.Path, f.Fingerprint)
		case f.TotalRows != head.TotalRows || len(f.Shard) != len(head.Shard) || ofShards(f.Shard) != ofShards(head.Shard):
			return fmt.Errorf("%s is shard %s of %d rows, and %s is %s of %d: these are two divisions",
				head.Path, head.Shard, head.TotalRows, f.Path, f.Shard, f.TotalRows)
		case twice:
			return fmt.Errorf("%s and %s are both shard %s", other, f.Path, f.Shard)
		}
		seen[f.Shard] = f.Path
	}
	if of := ofShards(all[0].Shard); strconv.Itoa(len(all)) != of {
		return fmt.Errorf("there are %d of %s shards: name all files of codes", len(all), of)
	}
	for _, f := range all {
		emit(f)
	}
	return nil
}

// ofShards is the number of shards in the name of one, without zeros in front.
func ofShards(name string) string {
	var number, of int
	if _, err := fmt.Sscanf(name, "%d-of-%d", &number, &of); err != nil {
		return name
	}
	return strconv.Itoa(of)
}

// readFn reads the rows of a file.
type readFn struct{}

// ProcessElement reads one file.
func (*readFn) ProcessElement(ctx context.Context, file codeFile, emit func(Codes)) (err error) {
	f, done, err := openParquet(ctx, file.Path)
	if err != nil {
		return err
	}
	defer done()
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
		if err != nil {
			err = fmt.Errorf("%s: is damaged: %w", file.Path, err)
		}
	}()
	if int(f.NumRows()) != file.Rows {
		return fmt.Errorf("has %d rows where %d were counted: did the file change?", f.NumRows(), file.Rows)
	}
	r := parquet.NewGenericReader[codeRow](f)
	defer r.Close()
	rows := make([]codeRow, 1024)
	out := file.codes(0)
	for read := 0; read < file.Rows; {
		n, err := r.Read(rows)
		if err != nil && err != io.EOF || n == 0 {
			return fmt.Errorf("row %d: %w", read+1, errors.Join(err, io.ErrUnexpectedEOF))
		}
		for _, row := range rows[:n] {
			if len(row.Code) != (file.Bits+7)/8 {
				return fmt.Errorf("row %d has a code of %d bytes, not of %d bits", read+1, len(row.Code), file.Bits)
			}
			out.add(row, file.First+read)
			read++
		}
		if len(out.IDs) >= defaultRows {
			emit(out)
			out = file.codes(read)
		}
	}
	if len(out.IDs) > 0 {
		emit(out)
	}
	return nil
}

// codes is no codes yet, of the file from a row on.
func (f codeFile) codes(from int) Codes {
	s := hamming.Shard{Number: 1, Of: 1, First: f.First + from, Rows: f.Rows - from, Total: f.TotalRows}
	return Codes{
		Shard: Shard{Number: s.Number, Of: s.Of, First: s.First, Rows: s.Rows, Total: s.Total},
		Bits:  f.Bits, Fingerprint: f.Fingerprint, Named: true,
	}
}

// add copies a row.
func (c *Codes) add(row codeRow, number int) {
	c.Data, c.Rows = append(c.Data, row.Code...), append(c.Rows, number)
	c.IDs = append(c.IDs, row.ID)
	label := ""
	if row.Label != nil {
		label = *row.Label
	}
	c.Labels, c.Tags = append(c.Labels, label), append(c.Tags, slices.Clone(row.Tags))
}
