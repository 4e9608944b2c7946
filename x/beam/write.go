package beam

import (
	"context"
	"fmt"
	"io"
	"path"
	"reflect"
	"strconv"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/parquet-go/parquet-go"

	"hashgrove/internal/hamming"
)

// ShardMark stands for the number of a run in the name of an output, such as codes-{shard}.parquet.
const ShardMark = "{shard}"

// Keys of the metadata of a Parquet file of codes.
const (
	keyBits        = "hashgrove.bits"
	keyFingerprint = "hashgrove.fingerprint"
	keyShard       = "hashgrove.shard"
	keyFirst       = "hashgrove.first_row"
	keyTotal       = "hashgrove.total_rows"
)

// codeRow is a row of a Parquet file of codes.
type codeRow struct {
	ID    string   `parquet:"id"`
	Code  []byte   `parquet:"code"` // packed, the first bit in the highest place, as numpy.packbits
	Label *string  `parquet:"label,optional"`
	Tags  []string `parquet:"tags,list"`
}

// Written is a file that a pipeline wrote.
type Written struct {
	Path string
	Rows int
}

func init() {
	beam.RegisterType(reflect.TypeFor[Written]())
	beam.RegisterType(reflect.TypeFor[writeFn]())
}

// Write writes every run of codes to a file of its own: Parquet with the columns id, code, label and tags, or a code
// file as hashgrove encode --shard writes it, byte for byte. The name of the output ends with .parquet or .hgc, and
// ShardMark in it becomes 00003-of-00008. A run that is written again makes the same file.
func Write(s beam.Scope, codes beam.PCollection, output string) (beam.PCollection, error) {
	if err := checkOutput(output, ".parquet", ".hgc"); err != nil {
		return beam.PCollection{}, err
	}
	return beam.ParDo(s.Scope("Write"), &writeFn{Output: output}, codes), nil
}

// checkOutput reports the name of an output that has no place for the number of the run, or another ending.
func checkOutput(output string, endings ...string) error {
	if !strings.Contains(path.Base(output), ShardMark) {
		return fmt.Errorf("%s: every run of rows becomes a file of its own, so the name needs %s", output, ShardMark)
	}
	for _, ending := range endings {
		if strings.HasSuffix(output, ending) {
			return nil
		}
	}
	return fmt.Errorf("%s: the name must end with %s", output, strings.Join(endings, " or "))
}

// writeFn writes a run.
type writeFn struct{ Output string }

// ProcessElement writes one run.
func (f *writeFn) ProcessElement(ctx context.Context, c Codes, emit func(Written)) error {
	name := strings.ReplaceAll(f.Output, ShardMark, c.Shard.shard().Name())
	write := c.writeParquet
	if strings.HasSuffix(name, ".hgc") {
		write = c.writeHGC
	}
	if err := writeFile(ctx, name, write); err != nil {
		return inFile(name, err)
	}
	emit(Written{name, len(c.IDs)})
	return nil
}

func (c *Codes) writeParquet(to io.Writer) error {
	w := parquet.NewGenericWriter[codeRow](to, parquet.Compression(&parquet.Zstd))
	for key, value := range map[string]string{
		keyBits: strconv.Itoa(c.Bits), keyFingerprint: c.Fingerprint, keyShard: c.Shard.shard().Name(),
		keyFirst: strconv.Itoa(c.Shard.First), keyTotal: strconv.Itoa(c.Shard.Total),
	} {
		w.SetKeyValueMetadata(key, value)
	}
	size := (c.Bits + 7) / 8
	rows := make([]codeRow, 1)
	for i, id := range c.IDs {
		rows[0] = codeRow{ID: id, Code: c.Data[i*size : (i+1)*size]}
		if c.Labels != nil && c.Labels[i] != "" {
			rows[0].Label = &c.Labels[i]
		}
		if c.Tags != nil {
			rows[0].Tags = c.Tags[i]
		}
		if _, err := w.Write(rows); err != nil {
			return err
		}
	}
	return w.Close()
}

func (c *Codes) writeHGC(to io.Writer) error {
	codes, err := c.codes()
	if err != nil {
		return err
	}
	print, err := hamming.ParseFingerprint(c.Fingerprint)
	if err != nil {
		return err
	}
	w, err := hamming.NewWriter(to, hamming.HGC, hamming.Header{
		Bits: c.Bits, Rows: codes.Len(), Fingerprint: print, Shard: c.Shard.shard(),
	})
	if err != nil {
		return err
	}
	ids := c.IDs
	if !c.Named {
		ids = nil
	}
	if err := w.Write(codes, ids); err != nil {
		return err
	}
	return w.Close()
}
