package model

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"hashgrove/internal/message"
	"hashgrove/internal/vectors"
)

// The canonical bytes of a hash function, as stored in files and hashed into the fingerprint. A function has exactly
// one such string. All numbers are little-endian; docs/formats.md shows both kinds.

// The first byte of a function.
const (
	ensembleTag = 1
	linearTag   = 2
)

const ensembleHead, linearHead = 6, 13 // tag, depth, number of trees; tag, dimension, bias

// leafBytes returns the number of bytes that hold the leaf signs of a tree: 1, 1, 1, 2, 4, 8, 16, 32.
func leafBytes(depth int) int { return max(1, 1<<depth/8) }

// treeBytes returns the number of bytes of one tree: columns, bins, leaf signs, weight.
func treeBytes(depth int) int { return 5*Splits(depth) + leafBytes(depth) + 4 }

// AppendFunction appends the canonical bytes of f.
func AppendFunction(dst []byte, f Function) []byte {
	le := binary.LittleEndian
	switch f := f.(type) {
	case *Ensemble:
		dst = append(dst, ensembleTag, uint8(f.Depth))
		dst = le.AppendUint32(dst, uint32(f.Trees()))
		for _, j := range f.Feature {
			dst = le.AppendUint32(dst, j)
		}
		dst = append(dst, f.Bin...)
		for _, w := range f.Leaf {
			for b := range min(8, leafBytes(f.Depth)) {
				dst = append(dst, uint8(w>>(8*b)))
			}
		}
		for _, w := range f.Weight {
			dst = le.AppendUint32(dst, uint32(w))
		}
	case *Linear:
		dst = append(dst, linearTag)
		dst = le.AppendUint32(dst, uint32(len(f.Weight)))
		dst = le.AppendUint64(dst, uint64(f.Bias))
		for _, w := range f.Weight {
			dst = le.AppendUint32(dst, uint32(w))
		}
	default:
		panic(fmt.Sprintf("model: no canonical bytes for %T", f))
	}
	return dst
}

// ParseFunction is the inverse of AppendFunction: it takes all of b or returns an error. It checks everything except
// whether the function fits vectors of some dimension, which is left to Check.
func ParseFunction(b []byte) (Function, error) {
	in := &reader{b: b}
	switch tag := in.u8(); {
	case in.bad:
		return nil, errors.New("a hash function of no bytes")
	case tag == ensembleTag:
		depth, n := int(in.u8()), int64(in.u32())
		// Sizes follow from the actual bytes, not from the claim.
		if in.bad || depth < 1 || depth > MaxDepth || n > maxTrees || int64(len(in.b)) != n*int64(treeBytes(depth)) {
			return nil, fmt.Errorf("%d trees of depth %d in %d bytes: at most %d trees of depth 1 to %d, in as many "+
				"bytes as they need", n, depth, len(b), maxTrees, MaxDepth)
		}
		e := parseEnsemble(in, depth, int(n))
		return e, e.Check(maxDim)
	case tag == linearTag:
		dim, bias := int64(in.u32()), in.take(8)
		if in.bad || dim < 1 || dim > maxDim || int64(len(in.b)) != 4*dim {
			return nil, fmt.Errorf("hyperplane of %d weights in %d bytes", dim, len(b))
		}
		l := &Linear{Bias: int64(binary.LittleEndian.Uint64(bias)), Weight: make([]int32, dim)}
		for j := range l.Weight {
			l.Weight[j] = int32(in.u32())
		}
		return l, l.Check(int(dim))
	default:
		return nil, message.New("unknown-type", "a hash function of unknown type %d", tag)
	}
}

func parseEnsemble(in *reader, depth, trees int) *Ensemble {
	splits, width := trees*Splits(depth), min(8, leafBytes(depth))
	e := &Ensemble{
		Depth: depth, Feature: make([]uint32, splits), Leaf: make([]uint64, trees*LeafWords(depth)),
		Weight: make([]int32, trees),
	}
	for i := range e.Feature {
		e.Feature[i] = in.u32()
	}
	e.Bin = bytes.Clone(in.take(int64(splits)))
	for i := range e.Leaf {
		for k, v := range in.take(int64(width)) {
			e.Leaf[i] |= uint64(v) << (8 * k)
		}
	}
	for q := range e.Weight {
		e.Weight[q] = int32(in.u32())
	}
	return e
}

// Flags for columns with more than linear bins.
const (
	missingFlag = 1 << iota // values may be missing
	edgesFlag               // some columns have edges of their own
)

// appendQuantizer appends the canonical bytes of a quantiser: all Lo, all Hi, and if there is more a byte of flags,
// then with edgesFlag for every column the number of its edges, a byte, and the edges.
func appendQuantizer(dst []byte, q vectors.Quantizer) []byte {
	dst = appendFloats(appendFloats(dst, q.Lo), q.Hi)
	if q.Plain() {
		return dst
	}
	dst = append(dst, bitIf(missingFlag, q.Missing)|bitIf(edgesFlag, q.Edges != nil))
	for _, edges := range q.Edges {
		dst = appendFloats(append(dst, uint8(len(edges))), edges)
	}
	return dst
}

// maxQuantizer returns the largest number of bytes of a quantiser.
func maxQuantizer(dim int) int { return 1 + dim*(9+4*(vectors.Bins-1)) }

// parseQuantizer returns the inverse of appendQuantizer.
func parseQuantizer(b []byte, dim int) (q vectors.Quantizer, err error) {
	in := &reader{b: b}
	v := in.floats(true, 2*int64(dim))
	if !in.bad {
		q.Lo, q.Hi = v[:dim:dim], v[dim:]
	}
	if !in.bad && len(in.b) > 0 {
		flags := in.flags(missingFlag | edgesFlag)
		in.bad = in.bad || flags == 0
		q.Missing = flags&missingFlag != 0
		if flags&edgesFlag != 0 {
			in.bad = in.bad || len(in.b) == dim // all columns without edges
			q.Edges = make([][]float32, dim)
		}
		for j := range q.Edges {
			if n := in.u8(); n > 0 {
				q.Edges[j] = in.floats(true, int64(n))
			}
		}
	}
	if in.bad || len(in.b) > 0 {
		return q, fmt.Errorf("quantiser of %d columns in %d bytes", dim, len(b))
	}
	return q, q.Check()
}

// appendFloats appends the bits of every value.
func appendFloats(dst []byte, v []float32) []byte {
	for _, x := range v {
		dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(x))
	}
	return dst
}

// floats returns the inverse of appendFloats for 4*n bytes.
func floats(b []byte) []float32 {
	v := make([]float32, len(b)/4)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return v
}
