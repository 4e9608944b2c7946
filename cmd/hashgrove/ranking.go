package main

import (
	"fmt"

	"hashgrove/api"
	"hashgrove/internal/model"
	"hashgrove/internal/plain"
)

// rankingReport describes how a model ranks items unless a search says otherwise.
type rankingReport struct {
	Rank  string  `json:"rank"` // hamming, margins or expected
	Tau   float64 `json:"tau"`  // these three are of the expected code
	Mix   float64 `json:"mix"`
	Codes int     `json:"codes"`
}

// rankingOf returns the ranking that a model chose, or nil if it knows only Hamming distance.
func rankingOf(m *model.Model) *rankingReport {
	r := m.Ranking
	if r == nil {
		return nil
	}
	return &rankingReport{r.Rank, r.Tau, r.Mix, r.Codes.Len()}
}

// String describes the ranking in a line; "" without one.
func (r *rankingReport) String() string {
	switch {
	case r == nil:
		return ""
	case r.Rank == model.ByExpected && r.Mix > 0:
		return fmt.Sprintf("searches rank by the expected code: tau %g, %.0f %% of the weight from margins, %s known\n",
			r.Tau, 100*r.Mix, plain.Count(r.Codes, "code", "codes"))
	case r.Rank == model.ByExpected:
		return fmt.Sprintf("searches rank by the expected code: tau %g, %s known\n",
			r.Tau, plain.Count(r.Codes, "code", "codes"))
	}
	return fmt.Sprintf("searches rank by %s\n", rankName(r.Rank))
}

// rankName names a ranking in a sentence, after "by".
func rankName(rank string) string {
	switch rank {
	case api.Margins:
		return "margins"
	case api.Expected:
		return "the expected code"
	}
	return "Hamming distance"
}

// bitsText says how many bits a code has.
func bitsText(class, detail int) string {
	if detail == 0 {
		return plain.Count(class, "bit", "bits")
	}
	return fmt.Sprintf("%s of the class and %d of detail", plain.Count(class, "bit", "bits"), detail)
}
