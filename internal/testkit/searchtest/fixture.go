package searchtest

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"hashgrove/api"
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/model"
)

// Fixture holds what a searcher searches.
type Fixture struct {
	Model   *model.Model         // encodes vectors of Dimension values
	Items   *index.Batch         // unordered, with distinct ids and the model's fingerprint
	Vectors map[api.ID][]float32 // of most items, whose codes the model made of them
}

// Dimension is the length of the vectors in all fixtures.
const Dimension = 5

// Bits returns the length of the codes.
func (w *Fixture) Bits() int { return w.Items.Codes.Bits }

// Detail returns how many bits of a code, the last ones, are detail.
func (w *Fixture) Detail() int { return w.Items.Fingerprint.Detail(w.Bits()) }

// Size says how large a fixture is, and what its model knows.
type Size struct {
	Items, Bits int
	Detail      int    // of the bits, the last ones
	Rank        string // the model's choice; "" means that it knows no codes of training rows
}

func (s Size) String() string {
	text := fmt.Sprintf("%d items of %d bits", s.Items, s.Bits)
	if s.Detail > 0 {
		text += fmt.Sprintf(", %d of detail", s.Detail)
	}
	if s.Rank != "" {
		text += " by " + s.Rank
	}
	return text
}

// NewFixture makes a fixture from a seed. Vectors and weights are small integers, so that sums are exact in any order.
func NewFixture(size Size, seed uint64) *Fixture {
	rng := rand.New(rand.NewPCG(seed, 2))
	w := &Fixture{
		Model: &model.Model{Encoder: projection(rng, size.Bits-size.Detail), Info: model.Info{Method: "lsh"}},
		Items: Items(size.Items, size.Bits, seed), Vectors: map[api.ID][]float32{},
	}
	if size.Rank != "" {
		w.Model.Ranking = ranking(rng, w.Model, size.Rank)
	}
	if size.Detail > 0 {
		w.Model.Encoder = &model.Detailed{Class: w.Model.Encoder, Detail: projection(rng, size.Detail)}
	}
	w.Items.Fingerprint = w.Model.Fingerprint()
	for i, id := range w.Items.IDs {
		if i%6 == 5 {
			continue
		}
		x := RandomVector(rng)
		w.Vectors[api.ID(id.String())] = x
		code, err := w.Model.EncodeRow(x)
		if err != nil {
			panic(err)
		}
		copy(w.Items.Codes.Row(i), code)
	}
	return w
}

// projection draws an encoder.
func projection(rng *rand.Rand, bits int) *model.Projection {
	p := &model.Projection{Weight: make([]float32, Dimension*bits), Threshold: make([]float32, bits)}
	for i := range p.Weight {
		p.Weight[i] = float32(rng.IntN(9) - 4)
	}
	for i := range p.Threshold {
		p.Threshold[i] = float32(rng.IntN(5)) - 2.5
	}
	return p
}

// ranking returns what a model remembers of 50 training rows.
func ranking(rng *rand.Rand, m *model.Model, rank string) *model.Ranking {
	rows := hamming.NewCodes(0, m.Encoder.Bits())
	for range 50 {
		code, err := m.EncodeRow(RandomVector(rng))
		if err != nil {
			panic(err)
		}
		rows.Data = append(rows.Data, code...)
	}
	return model.NewRanking(rank, 0.5, 0.25, rows, nil)
}

// RandomVector draws a vector with few different values.
func RandomVector(rng *rand.Rand) []float32 {
	x := make([]float32, Dimension)
	for i := range x {
		x[i] = float32(rng.IntN(7) - 3)
	}
	return x
}

// sorted returns the items in order of their ids.
func (w *Fixture) sorted() []index.Item {
	list := make([]index.Item, len(w.Items.IDs))
	for i := range list {
		list[i] = w.Items.Item(i)
	}
	slices.SortFunc(list, func(a, b index.Item) int { return a.ID.Compare(b.ID) })
	return list
}

// Fingerprint is the fingerprint of the codes made by Items.
var Fingerprint = hamming.Fingerprint{1, 2, 3}

// Items makes n items with codes of the given length: many equal codes, ids of both kinds, and labels, tags and
// attributes with everything that a query language may stumble over.
func Items(n, bits int, seed uint64) *index.Batch {
	rng := rand.New(rand.NewPCG(seed, 1))
	texts := []string{
		"boots", "Boots", "häts", "z", "a'b\"c", `\`, "semi;colon", "x y", "$1", "%s", "", "ünï—✓", "{a,b}", "NULL",
	}
	b := index.NewBatch(bits)
	b.Fingerprint = Fingerprint
	code := hamming.NewCodes(1, bits)
	for i := range n {
		it := index.Item{ID: index.Int(int64(i*37%n) - int64(n/4))}
		if i%3 == 0 {
			it.ID = index.Text(fmt.Sprintf("%s-%d", texts[1+rng.IntN(9)], i))
		}
		for bit := range bits {
			code.SetBit(0, bit, bit < 6 && rng.IntN(2) == 0 || rng.IntN(12) == 0)
		}
		it.Code = code.Row(0)
		it.Label = texts[rng.IntN(len(texts))]
		for range rng.IntN(4) {
			if tag := texts[rng.IntN(len(texts))]; tag != "" && !slices.Contains(it.Tags, tag) {
				it.Tags = append(it.Tags, tag)
			}
		}
		if i%5 > 0 {
			it.Attributes = map[string]index.Value{
				"price": index.Number(float64(rng.IntN(50))), "name": index.String(texts[rng.IntN(len(texts))]),
			}
			if i%4 > 0 {
				it.Attributes["added"] = index.String(dates[i%len(dates)])
			}
			switch {
			case i%7 == 0:
				it.Attributes["price"] = index.String("12") // a text, not a number
			case i%11 == 0:
				it.Attributes["price"] = index.Number(0.1 + float64(rng.Float64()*1e-17))
			case i%13 == 0:
				it.Attributes["it's \"odd\""] = index.Number(rng.NormFloat64() * 1e200)
			}
		}
		b.Append(it)
	}
	return b
}

// dates are dates, many of them the same moments, and texts that only look like dates.
var dates = []string{
	"2024-01-31", "2024-01-31T00:00Z", "2024-01-31 02:00+02:00", "2024-01-30t23:30-0030", "2024-01-31T09:30:15.25",
	"2024-01-31T09:30:15.2500000009z", "2024-01-31T11:30:15.25+02", "2024-02-29", "2023-02-29", "2024-02-30", "0000-02-29",
	"9999-12-31T23:59:59.999999999", "1969-12-31T23:59:59.5", "2024-01-31T09:3", "2024-01-31T09:30:1", "2024-1-31",
	"2024-01-31T24:00", "2024-01-31T09:30+2", "2024-01-31T09:30+0:200", "2024", "boots", "2024-01-31 ",
	"2024-01-31T09:30:15Z",
}

// DateFilters compare dates, which are ISO 8601 texts that compare as moments.
var DateFilters = []string{
	`added = 2024-01-31`, `added = "2024-01-31T03:00+03:00"`, `added != 2024-01-31`, `added < "2024-01-31T09:30:15.25Z"`,
	`added <= "2024-01-31T09:30:15.25Z"`, `added > 2024-01-30`, `not added >= 2024-02-29`,
	`added between 1969-01-01 and 2024-01-31`,
	`added between "2024" and "2024-01-31T12:00"`, `added in (2024-02-29, "boots", "2024-01-31T09:30:15.25")`,
	`added > 0000-01-01 and label = "boots"`, `label > 2024-01-31`, `label < 2024-01-31`, `tag >= 2024-01-31`,
	`tag between 2024-01-31 and "z"`,
}

// Filters has one filter of every kind. Each matches some of 300 items.
var Filters = []string{
	`label = "boots"`, `label != "boots"`, `label in ("häts", "z", "none")`, `label < "b"`, `label >= "a'b\"c"`,
	`label starts with "a'"`, `has label`, `not has label`, `label between "a" and "h"`,
	`tag = "boots"`, `tag != "boots"`, `tag in ("{a,b}", "NULL")`, `tag > "x"`, `tag starts with "x"`,
	`has tag`, `not has tag`,
	`tag between "a" and "b"`,
	`price < 10`, `price >= 12`, `price = 12`, `price = "12"`, `price != 12`, `price between 0.1 and 0.10000000000000002`,
	`price in (1, 2, "12")`, `not price < 10`, `has price`, `not has price`, `price <= 0.1`,
	`name = "ünï—✓"`, `name > "Boots"`, `name = ""`, `name starts with "%"`, `name between "A" and "c"`,
	"`it's \"odd\"` > 0",
	`id = 5`, `id != 5`, `id < 5`, `id <= 5.5`, `id > "Boots"`, `id in (5, 6, "7", "nobody")`, `id starts with "1"`,
	`id between 3 and 17`, `id between "a" and "z"`, `id >= -1e300`,
	`label = "boots" and (price < 10 or tag = "z")`, `not (label = "boots" or has tag)`, `not (not label = "z")`,
}

// strangeFilters name something that no item has, or compare values of different kinds.
var strangeFilters = []string{
	`nothing = 3`, `has nothing`, `not nothing = 3`, `label = "boots" or nothing > 2`, `name = 3`, `name < 3.5`,
	"`it's \"odd\"` = \"boots\"", "`it's \"odd\"` starts with \"b\"",
}
