package compare

import (
	"fmt"

	"hashgrove/internal/eval"
)

// Advice without labels: codes are worth what they keep of a search among the vectors. The share of a query's float
// neighbours among the first 100 items decides, since comparing those again by their vectors finds all of these; in a
// small base, the first 10 decide.

const lowRecall = 0.5 // share of the float neighbours, below which codes lose too much

// adviseByRecall returns the conclusions from the recall of float neighbours, and marks the recommended row.
func adviseByRecall(r *Result) []Advice {
	f := &facts{r: r}
	recall := func(row *eval.Row) float64 { return recallOf(row, r.recallRank()) }
	for i := range r.Rows {
		row := &r.Rows[i]
		row.Recommended = false
		switch {
		case row.Error != "":
			f.failed = append(f.failed, rowName(row))
		case row.Kind == eval.KindMethod && (f.best == nil || recall(row) > recall(f.best)):
			f.best = row
		case row.Method == sign:
			f.sign = row
		case row.Method == euclidean || row.Method == cosine:
			f.float = row
		}
	}
	for i := range r.Rows {
		row := &r.Rows[i]
		if f.best == nil || row.Method != f.best.Method || row.Error != "" ||
			recall(row) < recall(f.best)-near {
			continue
		}
		if f.choice == nil || row.Bits < f.choice.Bits {
			f.choice = row
		}
	}
	if row := f.recallVerdict(); row != nil {
		row.Recommended = true
	}
	if len(f.failed) > 0 {
		f.say("failed", "Not considered, because they failed: %s.", firstNames(f.failed))
	}
	return f.advice
}

// recallVerdict says what to do and returns the recommended row, or nil.
func (f *facts) recallVerdict() *eval.Row {
	c, float, d := f.choice, f.float, f.r.Data
	if c == nil {
		f.say("no-method", "Nothing can be advised: no method left codes.")
		return nil
	}
	found := fmt.Sprintf("of the %d nearest vectors of a query, %.0f %% are among the first 10 items",
		eval.NeighbourCount, 100*c.NeighbourRecall10)
	if f.r.recallRank() > 10 {
		found = fmt.Sprintf("of the %d nearest vectors of a query, %.0f %% are among the first 100 items and %.0f %% among "+
			"the first 10", eval.NeighbourCount, 100*c.NeighbourRecall100, 100*c.NeighbourRecall10)
	}
	if recallOf(c, f.r.recallRank()) < lowRecall && float != nil && d.Base*float.Bytes <= cheap {
		f.say("recall-cheap", "Do not hash: with the best codes, %s, %s. All %d vectors take %s, and one core goes "+
			"through them in %s for a query.", rowName(c), found, d.Base, byteCount(d.Base*float.Bytes),
			microseconds(float.SearchMicroseconds))
		return float
	}
	f.say("recall-use", "Use %s: %s. Rank the first hits again by their vectors: what is among them is then found.",
		rowName(c), found)
	if float != nil && float.Bytes > 0 {
		f.say("recall-cost", "Codes of %s take %s an item instead of %s, and one core goes through all %d items in %s "+
			"instead of %s for a query.", rowName(c), byteCount(c.Bytes), byteCount(float.Bytes), d.Base,
			microseconds(c.SearchMicroseconds), microseconds(float.SearchMicroseconds))
	}
	f.remarkOnRecall()
	return c
}

// remarkOnRecall says what longer codes and plain signs would do.
func (f *facts) remarkOnRecall() {
	c, rank := f.choice, f.r.recallRank()
	recall := func(row *eval.Row) float64 { return recallOf(row, rank) }
	var before, last *eval.Row
	for i := range f.r.Rows {
		if row := &f.r.Rows[i]; row.Method == c.Method && row.Error == "" {
			before, last = last, row
		}
	}
	switch {
	case before == nil:
	case last.Bits != c.Bits:
		way, text := longer(title(c.Method), last.Bits, fmt.Sprint("recall@", rank), recall(last), recall(c))
		f.say("recall-enough-bits", "%d bits are enough: %s.", c.Bits, text).way = way
	case recall(last) > recall(before)+near && last.CappedFrom == 0:
		f.say("recall-more-bits", "More bits still help: from %d to %d bits recall@%d rose from %.3f to %.3f. Try %d.",
			before.Bits, last.Bits, rank, recall(before), recall(last), 2*last.Bits)
	}
	if f.sign != nil && recall(f.sign) >= recall(c)-near {
		way, how := asWell(recall(f.sign), recall(c))
		f.say("recall-sign", "The sign of every centred value does %s, without learning: recall@%d %.3f with %s an item.",
			how, rank, recall(f.sign), byteCount(f.sign.Bytes)).way = way
	}
}
