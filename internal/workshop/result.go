package workshop

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"hashgrove/internal/compare"
	"hashgrove/internal/eval"
	"hashgrove/internal/method"
	"hashgrove/internal/model"
)

// Result is a comparison for people. Its figures are for new items, which nothing was learned from, unless named
// otherwise.
type Result struct {
	NewItems     *model.Figures `json:"new_items"` // of the codes that can be searched
	LearnedItems *model.Figures `json:"learned_items"`

	Data     Amounts  `json:"data"`
	Rows     []Row    `json:"rows"`    // the codes that can be searched, sign codes and float search first
	Summary  string   `json:"summary"` // what the rows mean, in a sentence or two
	Advice   []string `json:"advice"`
	Warnings []string `json:"warnings"`
	Seconds  float64  `json:"seconds"`
}

// Amounts says how much data the figures are based on.
type Amounts struct {
	Queries int `json:"queries"`
	New     int `json:"new"`     // items to search in that nothing was learned from
	Learned int `json:"learned"` // items that were learned from
	Classes int `json:"classes"`
	Depth   int `json:"depth"` // precision is among this many answers, or as many as there are right ones
}

// Row is one way to search.
type Row struct {
	Method    string  `json:"method"`
	Name      string  `json:"name,omitempty"`     // of the method in a request to train, if its codes can be searched
	Searched  bool    `json:"searched,omitempty"` // its codes are in the index
	Main      bool    `json:"main"`               // the codes in the index, sign codes or float search
	Bits      int     `json:"bits"`
	Bytes     int     `json:"bytes"` // of an item
	MAP       float64 `json:"map"`
	Precision float64 `json:"precision"`

	LearnedMAP       float64 `json:"learned_map"` // the same for items that were learned from
	LearnedPrecision float64 `json:"learned_precision"`

	TrainSeconds       float64 `json:"train_seconds"`
	EncodeMicroseconds float64 `json:"encode_microseconds"`
	SearchMicroseconds float64 `json:"search_microseconds"`
}

// resultOf extracts from a comparison what people see first.
func resultOf(r *compare.Result, best *eval.Row) *Result {
	out := &Result{Warnings: append([]string{}, r.Warnings...), Advice: []string{}, Seconds: r.Seconds}
	out.Data = Amounts{r.Data.Queries, r.Data.New, r.Data.Learned, r.Data.Classes, min(100, r.Data.New)}
	out.NewItems, out.LearnedItems = figuresOf(r.Data.New, best.NewItems), figuresOf(r.Data.Learned, best.LearnedItems)
	float := r.Find("float-euclidean", 0)
	if c := r.Find("float-cosine", 0); c != nil && c.MAP > float.MAP {
		float = c
	}
	main := map[*eval.Row]string{
		best: titleOf(best.Method), r.Find("sign", 0): "Sign codes", float: "Float search",
	}
	for i := range r.Rows {
		row := &r.Rows[i]
		name := main[row]
		if row.Kind == eval.KindMethod && name == "" {
			name = titleOf(row.Method)
		}
		if row.Method == "classifier-float" {
			name = "Classifier"
		}
		if name != "" && row.Error == "" && row.NewItems != nil && row.LearnedItems != nil {
			out.Rows = append(out.Rows, Row{
				Method: name, Name: searchable(row), Searched: row == best, Main: main[row] != "", Bits: row.Bits, Bytes: row.Bytes,
				MAP: row.NewItems.MAP, Precision: row.NewItems.Precision,
				LearnedMAP: row.LearnedItems.MAP, LearnedPrecision: row.LearnedItems.Precision,
				TrainSeconds: row.TrainSeconds, EncodeMicroseconds: row.EncodeMicroseconds,
				SearchMicroseconds: row.SearchMicroseconds,
			})
		}
	}
	order := []string{titleOf(best.Method), "Sign codes", "Float search"}
	slices.SortStableFunc(out.Rows, func(a, b Row) int {
		place := func(r Row) int {
			if i := slices.Index(order, r.Method); i >= 0 {
				return i
			}
			return len(order)
		}
		return cmp.Compare(place(a), place(b))
	})
	for _, a := range r.Advice {
		out.Advice = append(out.Advice, a.Text)
	}
	out.Summary = out.summary()
	return out
}

// titleOf returns the name of a method for people.
func titleOf(name string) string {
	about, _ := method.Describe(name)
	return cmp.Or(about.Title, name)
}

// searchable returns the name of a method whose codes can be searched, or "".
func searchable(row *eval.Row) string {
	if row.Kind == eval.KindMethod && slices.Contains(compare.Quick, row.Method) {
		return row.Method
	}
	return ""
}

// summary says what the three main rows mean.
func (r *Result) summary() string {
	if len(r.Rows) < 3 || !r.Rows[2].Main {
		return ""
	}
	codes, sign, float := r.Rows[0], r.Rows[1], r.Rows[2]
	if max(codes.Precision, sign.Precision, float.Precision) == 0 {
		return "The classes have too few items to say how good the codes are: new queries have nothing to find among new " +
			"items. Labels with more items each would tell."
	}
	text := fmt.Sprintf("Of the first answers to a new query, %s gets %.0f %% right with %s an item. Sign codes "+
		"get %.0f %% with %s, and comparing the vectors themselves gets %.0f %% with %s.", codes.Method, 100*codes.Precision,
		bytesText(codes.Bytes), 100*sign.Precision, bytesText(sign.Bytes), 100*float.Precision, bytesText(float.Bytes))
	best := max(sign.Precision, float.Precision)
	for _, other := range r.Rows {
		if other.Method == "Classifier" && other.Precision >= codes.Precision {
			return text + fmt.Sprintf(" But a plain classifier does as well, with %.0f %%: where only the class matters, "+
				"classify and do not hash.", 100*other.Precision)
		}
	}
	switch {
	case codes.Precision >= best+0.02:
		return text + " Here the learned codes are worth having."
	case codes.Precision <= best-0.02:
		return text + " Here the learned codes are not worth having: more data, or better labels, may change that."
	case codes.Bytes < min(sign.Bytes, float.Bytes):
		return text + " Here the learned codes are about as good as the others and smaller."
	}
	return text + " Here the learned codes are about as good as the others."
}

// addLook says in the summary what bits of detail are for.
func (r *Result) addLook(m *model.Model) {
	if n := m.DetailBits(); n > 0 {
		r.Summary = strings.TrimSpace(fmt.Sprintf("%s Behind the %d bits of the class, the index has %d of detail, which "+
			"put the items of a class in the order of their likeness to the query.", r.Summary, m.ClassBits(), n))
	}
}

func bytesText(n int) string {
	switch {
	case n == 1:
		return "1 byte"
	case n < 1000:
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%d,%03d bytes", n/1000, n%1000)
}

// figuresOf returns the figures as a model stores them.
func figuresOf(rows int, i *eval.Items) *model.Figures {
	if i == nil || rows == 0 {
		return nil
	}
	return &model.Figures{
		Rows: rows, MAP: i.MAP, MAPLow: i.MAPLow, MAPHigh: i.MAPHigh, Precision: i.Precision, PRArea: i.PRArea,
		DistinctCodes: i.DistinctCodes,
	}
}
