package export

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"hashgrove/internal/hamming"
	"hashgrove/internal/model"
)

// Boosters of other libraries become encoders (model.Boosted): every output of a booster is a bit, and several files
// are concatenated bit by bit. Bit k of a vector is 1 iff the margin of output k is above 0, where the margin is what
// the library predicts before converting it to a probability or a class:
//
//	XGBoost    Booster.predict(output_margin=True), all trees, on the CPU
//	LightGBM   Booster.predict(raw_score=True), all trees
//
// Margins are equal to the last digit for every vector of finite float32 values, because sums are taken in the same
// order and precision, and thresholds are float32 values that compare like the library's.

// ErrBooster reports a file that is not a booster, or not one that can become an encoder.
var ErrBooster = errors.New("not a booster that can become an encoder")

// maxBooster limits the length of a file.
const maxBooster = 1 << 30

// booster is the content of a file.
type booster struct {
	library string
	names   []string // of the columns, or none
	encoder model.Boosted
	doubts  []string
	unsure  int // outputs whose base may differ in the last digit
}

// ReadBoosters makes a model from files saved by XGBoost (JSON) or LightGBM (text), all by the same library and for
// vectors of the same length. doubts warns of what may not be as intended.
func ReadBoosters(paths ...string) (m *model.Model, doubts []string, err error) {
	var all *booster
	for i, path := range paths {
		b, err := readBoosterFile(path)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", path, err)
		}
		for _, d := range b.doubts {
			doubts = append(doubts, path+": "+d)
		}
		if i == 0 {
			all = b
			continue
		}
		if err := all.join(b); err != nil {
			return nil, nil, fmt.Errorf("%s does not go with %s: %w", path, paths[0], err)
		}
	}
	if all == nil {
		return nil, nil, errors.New("there are no boosters to read")
	}
	m, err = all.model()
	return m, append(doubts, all.baseDoubts()...), err
}

// baseDoubts warns if the bases of some outputs may differ from the library's.
func (b *booster) baseDoubts() []string {
	if b.unsure == 0 {
		return nil
	}
	return []string{fmt.Sprintf("the margins of %d of %d outputs start with the logit of a base_score whose last digit "+
		"depends on the C library that XGBoost runs with: it is the nearest float32 here, and for 1 in 1,000 base scores "+
		"another one there; base_score 0.5 is always the same", b.unsure, len(b.encoder.Outputs))}
}

// ReadBooster makes a model from one booster, as ReadBoosters does.
func ReadBooster(r io.Reader) (m *model.Model, doubts []string, err error) {
	b, err := readBooster(r)
	if err != nil {
		return nil, nil, err
	}
	m, err = b.model()
	return m, append(b.doubts, b.baseDoubts()...), err
}

func readBoosterFile(path string) (*booster, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readBooster(f)
}

// readBooster recognises the library by the first bytes.
func readBooster(r io.Reader) (*booster, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxBooster+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxBooster {
		return nil, fmt.Errorf("%w: it is longer than %d bytes", ErrBooster, maxBooster)
	}
	start := bytes.TrimLeft(text, " \t\r\n")
	switch {
	case bytes.HasPrefix(start, []byte("{")):
		if len(start) > 1 && (start[1] == 'L' || start[1] == 'i' || start[1] == 'U') {
			return nil, fmt.Errorf("%w: it is binary (UBJSON): save it under a name that ends with .json", ErrBooster)
		}
		return parseXGBoost(text)
	case bytes.HasPrefix(start, []byte("tree\n")) || bytes.HasPrefix(start, []byte("tree\r\n")):
		return parseLightGBM(text)
	}
	return nil, fmt.Errorf("%w: it is neither JSON of XGBoost nor text of LightGBM", ErrBooster)
}

// join adds the outputs of another booster.
func (b *booster) join(other *booster) error {
	e, o := &b.encoder, &other.encoder
	switch {
	case b.library != other.library:
		return fmt.Errorf("boosters of %s and %s add in different ways: make one model of each", b.library, other.library)
	case e.Columns != o.Columns:
		return fmt.Errorf("vectors of %d and of %d dimensions", e.Columns, o.Columns)
	case !slices.Equal(b.names, other.names):
		return errors.New("the columns have other names")
	case len(e.Outputs)+len(o.Outputs) > hamming.MaxBits:
		return fmt.Errorf("together they make more than %d bits", hamming.MaxBits)
	}
	e.Outputs = append(e.Outputs, o.Outputs...)
	b.unsure += other.unsure
	return nil
}

func (b *booster) model() (*model.Model, error) {
	m := &model.Model{Encoder: &b.encoder, Info: model.Info{
		Method: b.library, Version: model.Version, Features: b.names,
	}}
	if err := m.Check(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBooster, err)
	}
	return m, nil
}

// nodeTree is a tree as libraries store it: nodes that point to each other.
type nodeTree interface {
	// node returns the node at a position, with the positions of its children if it is a split.
	node(at int) (n model.Node, left, right int, err error)
	// size returns the maximum number of nodes.
	size() int
}

// preorder lists the nodes reachable from the root in pre-order. Cycles and nodes reachable twice are an error.
func preorder(t nodeTree, root int) ([]model.Node, error) {
	var nodes []model.Node
	type branch struct{ split, at int } // the split whose right child it is, or -1
	todo := []branch{{-1, root}}
	for len(todo) > 0 {
		b := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if b.split >= 0 {
			nodes[b.split].Right = int32(len(nodes))
		}
		for at := b.at; ; {
			if len(nodes) == t.size() {
				return nil, fmt.Errorf("%w: nodes of a tree lead in a circle", ErrBooster)
			}
			n, left, right, err := t.node(at)
			if err != nil {
				return nil, err
			}
			nodes = append(nodes, n)
			if n.Column < 0 {
				break
			}
			todo = append(todo, branch{len(nodes) - 1, right})
			at = left
		}
	}
	return slices.Clip(nodes), nil
}
