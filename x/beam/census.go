package beam

import (
	"bytes"
	"context"
	"encoding/binary"
	"hash/fnv"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
)

// partitions is how many places the codes of a base are counted in. A place keeps all different codes with its hash.
const partitions = 256

// census counts the copies of codes and names the classes, both in order, so that it is always written alike.
type census struct {
	codes map[string]int // packed codes
	names map[string]bool
}

// summary is what is reported of a census.
type summary struct {
	Distinct, Largest int
	Names             []string // of the classes
}

func (s *summary) add(other summary) {
	s.Distinct += other.Distinct
	s.Largest = max(s.Largest, other.Largest)
	s.Names = slices.Sorted(maps.Keys(setOf(append(s.Names, other.Names...))))
}

func setOf(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}

func init() {
	beam.RegisterCoder(reflect.TypeFor[*census](), encodeCensus, decodeCensus)
	beam.RegisterType(reflect.TypeFor[censusFn]())
	beam.RegisterType(reflect.TypeFor[censusCombine]())
	beam.RegisterFunction(packCensus)
}

// takeCensus counts a base: a collection of findings.
func takeCensus(s beam.Scope, base beam.PCollection, o EvalOptions) beam.PCollection {
	s = s.Scope("Census")
	counted := beam.ParDo(s, &censusFn{Codes: !o.NoCensus}, base)
	return beam.ParDo(s, packCensus, beam.CombinePerKey(s, &censusCombine{}, counted))
}

// censusFn counts a run.
type censusFn struct{ Codes bool }

// ProcessElement counts one run: classes in partition 0, codes by their hash.
func (f *censusFn) ProcessElement(_ context.Context, c Codes, emit func(int, *census)) error {
	parts := map[int]*census{0: {codes: map[string]int{}, names: setOf(c.Labels)}}
	delete(parts[0].names, "")
	if f.Codes {
		size := (c.Bits + 7) / 8
		for i := range c.IDs {
			code := c.Data[i*size : (i+1)*size]
			h := fnv.New32a()
			h.Write(code)
			p := int(h.Sum32() % partitions)
			if parts[p] == nil {
				parts[p] = &census{codes: map[string]int{}}
			}
			parts[p].codes[string(code)]++
		}
	}
	for p, one := range parts {
		emit(p, one)
	}
	return nil
}

// censusCombine puts counts together.
type censusCombine struct{}

// MergeAccumulators adds one count to another, which is changed.
func (*censusCombine) MergeAccumulators(a, b *census) *census {
	for code, n := range b.codes {
		a.codes[code] += n
	}
	for name := range b.names {
		if a.names == nil {
			a.names = map[string]bool{}
		}
		a.names[name] = true
	}
	return a
}

// packCensus makes a text of the counts of a partition.
func packCensus(partition int, c *census, emit func(string)) {
	s := &summary{Distinct: len(c.codes), Names: slices.Sorted(maps.Keys(c.names))}
	for _, n := range c.codes {
		s.Largest = max(s.Largest, n)
	}
	emit(pack(finding{Block: partition, Counts: s}))
}

// encodeCensus writes codes with their counts, then names, each with its length in front.
func encodeCensus(c *census) []byte {
	b := binary.AppendUvarint(nil, uint64(len(c.codes)))
	for _, code := range slices.Sorted(maps.Keys(c.codes)) {
		b = append(binary.AppendUvarint(b, uint64(len(code))), code...)
		b = binary.AppendUvarint(b, uint64(c.codes[code]))
	}
	for _, name := range slices.Sorted(maps.Keys(c.names)) {
		b = append(binary.AppendUvarint(b, uint64(len(name))), name...)
	}
	return b
}

// decodeCensus reads what encodeCensus wrote; Beam hands over nothing else.
func decodeCensus(b []byte) *census {
	r := bytes.NewReader(b)
	number := func() int {
		n, err := binary.ReadUvarint(r)
		if err != nil {
			panic(err)
		}
		return int(n)
	}
	text := func() string {
		var s strings.Builder
		for range number() {
			c, err := r.ReadByte()
			if err != nil {
				panic(err)
			}
			s.WriteByte(c)
		}
		return s.String()
	}
	c := &census{codes: map[string]int{}, names: map[string]bool{}}
	for range number() {
		code := text()
		c.codes[code] = number()
	}
	for r.Len() > 0 {
		c.names[text()] = true
	}
	return c
}
