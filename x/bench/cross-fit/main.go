// Cross-fit measures what out-of-fold codes do for an index with learned and new items: a model of the first half of
// the demo's training pictures, the second half as new items, and the demo's queries.
//
//	hashgrove demo -o shop
//	go run -C x/bench ./cross-fit ../../shop [FOLDS...]
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"hashgrove/internal/dataset"
	"hashgrove/internal/eval"
	"hashgrove/internal/fasthash"
	"hashgrove/internal/hamming"
	"hashgrove/internal/model"
	"hashgrove/internal/train"
	"hashgrove/internal/vectors"
)

// part holds pictures and their classes.
type part struct {
	x     vectors.Matrix
	class []int32
}

func main() {
	log.SetFlags(0)
	if len(os.Args) < 2 {
		log.Fatal("usage: cross-fit FOLDER [FOLDS...]")
	}
	all, queries := read(os.Args[1], "train"), read(os.Args[1], "query")
	half := all.x.Rows / 2
	learned := part{all.x.Slice(0, half), all.class[:half]}
	fresh := part{all.x.Slice(half, 2*half), all.class[half : 2*half]}
	for i, text := range append([]string{"5"}, os.Args[2:]...) {
		if i == 0 && len(os.Args) > 2 {
			continue // the number of folds unless some are given
		}
		folds, err := strconv.Atoi(text)
		check(err)
		measure(folds, learned, fresh, queries)
	}
}

// measure trains with a number of folds and prints the figures of every base.
func measure(folds int, learned, fresh, queries part) {
	ctx := context.Background()
	names := make([]string, len(learned.class))
	for i, c := range learned.class {
		names[i] = strconv.Itoa(int(c))
	}
	rows := train.Data{Source: vectors.WithLabels(learned.x, names)}
	trained, err := train.Train(ctx, rows, train.Options{CrossFit: folds, Validation: new(0.0)})
	check(err)
	m, report := trained.Model, trained.FastHash
	took, extra := 0.0, 0.0
	for _, b := range report.Bits {
		took += b.Inference.Seconds() + b.Boost.Seconds()
		extra += b.Folds.Seconds()
	}
	fmt.Printf("%d folds: training %.0f s, cross-fitting %.0f s more\n", folds, took, extra)

	own, others, asked := encode(m, learned.x), encode(m, fresh.x), encode(m, queries.x)
	made := crossFitted(report.CrossFitted, learned.x)
	print := func(name string, codes hamming.Codes, class []int32) {
		r, err := eval.Retrieval(ctx, asked, codes, eval.ByClass(queries.class, class), eval.Options{})
		check(err)
		fmt.Printf("%-32s MAP %.3f  precision %.3f  %d different codes\n", name, r.MAP, r.ReachablePrecision, r.DistinctCodes)
	}
	print("learned", own, learned.class)
	print("learned, cross-fitted", made, learned.class)
	print("new", others, fresh.class)
	both := slices.Concat(learned.class, fresh.class)
	for _, c := range []struct {
		name  string
		codes hamming.Codes
	}{{"half and half", own}, {"half and half, cross-fitted", made}} {
		name, mixed := c.name, c.codes
		mixed.Data = slices.Concat(mixed.Data, others.Data)
		print(name, mixed, both)
		// Learned items count as relevant, so precision is their expected share over ties.
		origin := make([]int32, mixed.Len())
		for i := range learned.class {
			origin[i] = 1
		}
		ones := slices.Repeat([]int32{1}, asked.Len())
		r, err := eval.Retrieval(ctx, asked, mixed, eval.ByClass(ones, origin), eval.Options{})
		check(err)
		fmt.Printf("%-32s %.3f of the first 100 hits are learned items\n", name, r.Precision[100])
	}
}

// crossFitted returns the codes in row order.
func crossFitted(c *fasthash.CrossFitted, x vectors.Matrix) hamming.Codes {
	place := map[vectors.RowHash]int{}
	for i, h := range c.Rows {
		place[h] = i
	}
	codes := hamming.NewCodes(x.Rows, c.Codes.Bits)
	vectors.HashRows(x, func(i int, h vectors.RowHash) { copy(codes.Row(i), c.Codes.Row(place[h])) })
	return codes
}

func encode(m *model.Model, x vectors.Matrix) hamming.Codes {
	codes, err := m.Encode(context.Background(), x, 0)
	check(err)
	return codes
}

// read reads the demo's pictures with their classes.
func read(folder, name string) part {
	set, err := dataset.Open(dataset.Spec{Paths: []string{filepath.Join(folder, name+"-images-idx3-ubyte.gz")}})
	check(err)
	t, err := vectors.Read(context.Background(), set)
	check(err)
	p := part{x: t.X}
	for _, label := range t.Labels {
		c, err := strconv.Atoi(label)
		check(err)
		p.class = append(p.class, int32(c))
	}
	return p
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
