package beam

import (
	"context"
	"fmt"
	"io"
	"os"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"hashgrove/internal/fault"
	"hashgrove/internal/hamming"
	"hashgrove/internal/model"
	"hashgrove/internal/vectors"
)

// ModelFile is a model, with the fingerprint that it has where the pipeline is made. Workers that find another one at
// its path refuse it.
type ModelFile struct {
	Path        string
	Fingerprint string // in full
	Bits        int
}

// OpenModel reads a model to learn its fingerprint.
func OpenModel(ctx context.Context, path string) (ModelFile, error) {
	m, err := readModel(ctx, path)
	if err != nil {
		return ModelFile{}, err
	}
	return ModelFile{path, m.Fingerprint().Full(), m.Encoder.Bits()}, nil
}

// models are those that this process has loaded: one copy for all bundles and transforms.
var models sync.Map // ModelFile -> *loading

// loading is a model that is read when it is needed.
type loading struct{ read func() (*model.Model, error) }

// load reads the model the first time that this process asks for it.
func (f ModelFile) load(ctx context.Context) (*model.Model, error) {
	once := &loading{sync.OnceValues(func() (*model.Model, error) {
		m, err := readModel(context.WithoutCancel(ctx), f.Path)
		if err != nil {
			return nil, err
		}
		if have := m.Fingerprint().Full(); have != f.Fingerprint {
			return nil, fault.New("model-mismatch", "%s: is model %.16s on this worker, and %.16s where the pipeline was made: "+
				"give every worker the same file", f.Path, have, f.Fingerprint)
		}
		return m, nil
	})}
	kept, _ := models.LoadOrStore(f, once)
	m, err := kept.(*loading).read()
	if err != nil {
		models.CompareAndDelete(f, kept) // a file that is put right later is read again
	}
	return m, err
}

func readModel(ctx context.Context, path string) (*model.Model, error) {
	var in io.ReadCloser
	var err error
	if isRemote(path) {
		in, err = openRemote(ctx, path)
	} else {
		in, err = os.Open(path)
	}
	if err != nil {
		return nil, err
	}
	defer in.Close()
	m, err := model.Read(in)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

// Codes is the codes of a run of rows, with what is known about the rows.
type Codes struct {
	Shard       Shard // without its pieces
	Bits        int
	Fingerprint string   // of the model, in full
	Data        []byte   // packed codes, the first bit of each in the highest place
	Rows        []int    // number of each row among all
	Named       bool     // the rows have ids; else their numbers are their ids
	IDs         []string // one for each row, also where it is the number
	Labels      []string // one for each row, or nil; "" means none
	Tags        [][]string
}

func init() {
	beam.RegisterType(reflect.TypeFor[Codes]())
	beam.RegisterType(reflect.TypeFor[encodeFn]())
}

// codes unpacks the codes.
func (c *Codes) codes() (hamming.Codes, error) {
	codes := hamming.NewCodes(len(c.IDs), c.Bits)
	size := codes.Bytes()
	if len(c.Data) != size*len(c.IDs) {
		return codes, fmt.Errorf("%d bytes are not %d codes of %d bits", len(c.Data), len(c.IDs), c.Bits)
	}
	for i := range c.IDs {
		if !codes.SetBytes(i, c.Data[i*size:(i+1)*size]) {
			return codes, fmt.Errorf("the code of %q has bits after its end", c.IDs[i])
		}
	}
	return codes, nil
}

// Encode encodes runs of the rows of an input that names a model.
func Encode(s beam.Scope, shards beam.PCollection, in Input) beam.PCollection {
	return beam.ParDo(s.Scope("Encode"), &encodeFn{Input: in}, shards)
}

// encodeFn encodes a run.
type encodeFn struct {
	Input Input
	model *model.Model
}

// Setup loads the model, once for the process.
func (f *encodeFn) Setup(ctx context.Context) (err error) {
	f.model, err = f.Input.Model.load(ctx)
	return err
}

// ProcessElement encodes one run, chunk by chunk.
func (f *encodeFn) ProcessElement(ctx context.Context, shard Shard, emit func(Codes)) error {
	out := Codes{Shard: shard, Bits: f.model.Encoder.Bits(), Fingerprint: f.Input.Model.Fingerprint}
	out.Shard.Pieces = nil
	for _, p := range shard.Pieces {
		if err := f.piece(ctx, p, &out); err != nil {
			return err
		}
	}
	count(ctx, "encoded", len(out.IDs))
	emit(out)
	return nil
}

// piece appends the codes of the rows in one file.
func (f *encodeFn) piece(ctx context.Context, p Piece, out *Codes) error {
	set, src, done, err := f.Input.open(ctx, p, f.model)
	if err != nil {
		return err
	}
	defer done()
	if err := set.TakeRows(p.Total, p.From, p.Rows); err != nil {
		return err
	}
	took := 0
	err = f.model.EncodeSource(ctx, src, f.Input.Threads, func(_ int, codes hamming.Codes, chunk vectors.Chunk) error {
		if len(chunk.Places) != codes.Len() {
			return fmt.Errorf("the rows do not say where they are in the file")
		}
		took += codes.Len()
		out.append(codes, chunk, p.Before)
		return nil
	})
	if err != nil {
		return inFile(p.Path, err)
	}
	bad, _ := set.Bad()
	count(ctx, "bad_rows", bad)
	if took+bad != p.Rows {
		return fmt.Errorf("%s: has %d rows where %d were counted: did the file change?", p.Path, took+bad, p.Rows)
	}
	return nil
}

// append copies the rows of a chunk; before is the number of rows in the files before.
func (c *Codes) append(codes hamming.Codes, chunk vectors.Chunk, before int) {
	have := len(c.IDs)
	for i := range codes.Len() {
		row := before + chunk.Places[i]
		c.Data, c.Rows = codes.AppendBytes(c.Data, i), append(c.Rows, row)
		if chunk.IDs != nil {
			c.Named, c.IDs = true, append(c.IDs, strings.Clone(chunk.IDs[i])) // chunks are lent
		} else {
			c.IDs = append(c.IDs, strconv.Itoa(row))
		}
	}
	if chunk.Labels != nil && c.Labels == nil {
		c.Labels = make([]string, have)
	}
	if chunk.Tags != nil && c.Tags == nil {
		c.Tags = make([][]string, have)
	}
	for i := range codes.Len() {
		if c.Labels != nil {
			c.Labels = append(c.Labels, text(chunk.Labels, i))
		}
		if c.Tags != nil {
			var tags []string
			if chunk.Tags != nil {
				for _, tag := range chunk.Tags[i] {
					tags = append(tags, strings.Clone(tag))
				}
			}
			c.Tags = append(c.Tags, tags)
		}
	}
}

// text is a copy of entry i, or "" where there are none.
func text(list []string, i int) string {
	if list == nil {
		return ""
	}
	return strings.Clone(list[i])
}

// count adds to a counter of the job, which runners show.
func count(ctx context.Context, name string, n int) {
	beam.NewCounter("hashgrove", name).Inc(ctx, int64(n))
}
