package model

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// The canonical bytes of a hash function: what stands in files and enters the fingerprint. A function has exactly
// one such string. All numbers are little-endian; docs/formats.md draws both kinds.

// The first byte of a function.
const (
	ensembleTag = 1
	linearTag   = 2
)

const ensembleHead, linearHead = 6, 13 // tag, depth, number of trees; tag, dimension, bias

// leafBytes is the number of bytes that hold the leaf signs of a tree: 1, 1, 1, 2, 4, 8, 16, 32.
func leafBytes(depth int) int { return max(1, 1<<depth/8) }

// treeBytes is the number of bytes of one tree: columns, bins, leaf signs, weight.
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

// ParseFunction is the inverse of AppendFunction: it takes all of b or returns an error. Whether the function fits
// vectors of some dimension is left to Check, everything else is checked here.
func ParseFunction(b []byte) (Function, error) {
	if len(b) == 0 {
		return nil, errors.New("a hash function of no bytes")
	}
	var (
		f   Function
		err error
		dim = MaxDim
	)
	switch b[0] {
	case ensembleTag:
		f, err = parseEnsemble(b)
	case linearTag:
		var l *Linear
		if l, err = parseLinear(b); err == nil {
			f, dim = l, len(l.Weight)
		}
	default:
		return nil, fmt.Errorf("a hash function of unknown type %d", b[0])
	}
	if err != nil {
		return nil, err
	}
	return f, f.Check(dim)
}

func parseEnsemble(b []byte) (*Ensemble, error) {
	if len(b) < ensembleHead {
		return nil, fmt.Errorf("trees cut short after %d bytes", len(b))
	}
	le := binary.LittleEndian
	depth, n := int(b[1]), int64(le.Uint32(b[2:]))
	b = b[ensembleHead:]
	if depth < 1 || depth > MaxDepth || n < 1 || n > MaxTrees {
		return nil, fmt.Errorf("%d trees of depth %d, outside of 1 to %d trees of depth 1 to %d", n, depth, MaxTrees, MaxDepth)
	}
	// From here on sizes come from the bytes that are there, not from the claim.
	if int64(len(b)) != n*int64(treeBytes(depth)) {
		return nil, fmt.Errorf("%d trees of depth %d in %d bytes, and they need %d", n, depth, len(b), n*int64(treeBytes(depth)))
	}
	trees, splits := int(n), int(n)*Splits(depth)
	e := &Ensemble{
		Depth:   depth,
		Feature: make([]uint32, splits),
		Bin:     make([]uint8, splits),
		Leaf:    make([]uint64, trees*LeafWords(depth)),
		Weight:  make([]int32, trees),
	}
	for i := range e.Feature {
		e.Feature[i] = le.Uint32(b[4*i:])
	}
	b = b[4*splits:]
	copy(e.Bin, b)
	b = b[splits:]
	width := min(8, leafBytes(depth))
	for i := range e.Leaf {
		for k := range width {
			e.Leaf[i] |= uint64(b[i*width+k]) << (8 * k)
		}
	}
	b = b[trees*leafBytes(depth):]
	for q := range e.Weight {
		e.Weight[q] = int32(le.Uint32(b[4*q:]))
	}
	return e, nil
}

func parseLinear(b []byte) (*Linear, error) {
	if len(b) < linearHead {
		return nil, fmt.Errorf("hyperplane cut short after %d bytes", len(b))
	}
	le := binary.LittleEndian
	dim := int64(le.Uint32(b[1:]))
	l := &Linear{Bias: int64(le.Uint64(b[5:]))}
	b = b[linearHead:]
	if dim < 1 || dim > MaxDim || int64(len(b)) != 4*dim {
		return nil, fmt.Errorf("hyperplane of %d weights in %d bytes", dim, len(b))
	}
	l.Weight = make([]int32, dim)
	for j := range l.Weight {
		l.Weight[j] = int32(le.Uint32(b[4*j:]))
	}
	return l, nil
}

// appendFloats appends the bits of every value.
func appendFloats(dst []byte, v []float32) []byte {
	for _, x := range v {
		dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(x))
	}
	return dst
}

// floats is the inverse of appendFloats for 4*n bytes.
func floats(b []byte) []float32 {
	v := make([]float32, len(b)/4)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return v
}
