package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"hashgrove"
	"hashgrove/api"
	"hashgrove/internal/engine"
	"hashgrove/internal/plain"
	"hashgrove/internal/report"
)

// reportAnswers is the number of answers shown per search.
const reportAnswers = 3

// causeMeanings explains each cause on the page.
var causeMeanings = map[string]string{
	engine.CauseMissing: "The index has these items but the engine does not: they were never pushed, or removed there.",
	engine.CauseExtra: "The engine has these items but the index does not: others pushed them, or they were removed " +
		"from the index.",
	engine.CauseCode: "The codes of these items differ: they were changed, or encoded with another model.",
	engine.CauseBitOrder: "The codes of these items have the same bits in another order: the program that wrote them " +
		"packs bits differently.",
	engine.CauseDetails: "Labels, tags or attributes of these items differ, so filters may select other items.",
	engine.CauseTies: "Items at the same distance come in another order, or different ones are cut off. All are " +
		"equally near, so no better item was missed.",
	engine.CauseApprox: "A nearer item was not found: the engine's index is approximate, and searching more of it " +
		"finds more.",
	engine.CauseFilter:   "The engine filters differently, or does not support the filter.",
	engine.CauseDistance: "The engine reports another distance, although the codes are right.",
	engine.CauseOrder:    "Hits are not ordered by distance.",
	engine.CauseRadius:   "Items at or beyond the edge of the radius are treated differently.",
	engine.CauseRefusal:  "The exact index refuses the filter, because no item can match it; nothing was compared.",
}

// writeReport writes the HTML page of --report.
func (c *checkCommand) writeReport(e engine.Engine, r *engine.CheckReport, space engine.Space) error {
	asked, claim := len(c.where) > 0, "exact"
	if !r.Exact {
		claim = "approximate"
	}
	page := report.ConformancePage{
		Title: fmt.Sprintf("%s against the exact index", r.Engine), Date: time.Now(), Command: c.command,
		Version: hashgrove.Version, Verdict: verdictText(r, asked), Good: verdict(r, asked) == nil,
		Facts: []report.NamedText{
			{Name: "Engine", Text: r.Engine}, {Name: "Table", Text: r.Table}, {Name: "Claims to be", Text: claim},
			{Name: "Bits", Text: strconv.Itoa(r.Bits)}, {Name: "Model", Text: r.Fingerprint},
			{Name: "Items in the index", Text: strconv.Itoa(r.Ours)},
			{Name: "Items in the engine", Text: strconv.Itoa(r.Theirs)}, {Name: "Equal items", Text: strconv.Itoa(r.Equal)},
			{Name: "Hits per search", Text: strconv.Itoa(r.K)},
			{Name: "Radius", Text: strconv.Itoa(r.Radius)},
		},
		Notes: checkNotes(r),
	}
	for _, s := range r.Searches {
		page.Searches = append(page.Searches, report.ConformanceSearch(s))
	}
	for _, cause := range slices.Sorted(maps.Keys(r.Causes)) {
		shown := report.ConformanceCause{Cause: cause, Meaning: causeMeanings[cause], Count: r.Causes[cause]}
		for _, d := range r.Differences {
			if d.Cause != cause {
				continue
			}
			row := report.ConformanceDifference{Search: d.Search, Item: d.ID, Text: d.Text}
			if d.Query >= 0 {
				row.Query = strconv.Itoa(d.Query)
			}
			shown.Differences = append(shown.Differences, row)
		}
		page.Causes = append(page.Causes, shown)
	}
	for _, a := range r.Answers {
		page.Answers = append(page.Answers, answerPair(a))
	}
	for _, s := range e.Plan(space) {
		if !s.Sent {
			page.Commands = append(page.Commands, report.NamedText{Name: s.Purpose, Text: s.Text})
		}
	}
	return report.WriteConformanceFile(c.report, page)
}

// answerPair pairs the two answers for display side by side.
func answerPair(a engine.Answer) report.ConformanceAnswer {
	words := map[string]string{"same": "the same answer", "ties": "only ties differ", "differ": "the answers differ"}
	shown := report.ConformanceAnswer{
		Search: a.Search, Query: strconv.Itoa(a.Query), Outcome: words[a.Outcome], Good: a.Outcome == "same",
	}
	at := func(hits []api.Hit, i int) (id, distance string) {
		if i >= len(hits) {
			return "", ""
		}
		if distance = strconv.Itoa(hits[i].Distance); hits[i].DetailDistance != nil {
			distance += " + " + strconv.Itoa(*hits[i].DetailDistance) + " of detail"
		}
		return string(hits[i].ID), distance
	}
	for i := range max(len(a.Ours), len(a.Theirs)) {
		var row report.ConformanceRank
		row.Ours, row.OurDistance = at(a.Ours, i)
		row.Theirs, row.TheirDistance = at(a.Theirs, i)
		row.Same = row.Ours == row.Theirs && row.OurDistance == row.TheirDistance
		shown.Rows = append(shown.Rows, row)
	}
	return shown
}

// checkSums adds up the outcomes of all searches.
func checkSums(r *engine.CheckReport) (recall float64, answers, same, refused int) {
	hits, found := 0, 0.0
	for _, s := range r.Searches {
		if s.Refused != "" {
			refused++
			continue
		}
		answers, same, hits = answers+s.Queries, same+s.Same, hits+s.Hits
		found += float64(s.Recall * float64(s.Hits))
	}
	if hits == 0 {
		return 1, answers, same, refused
	}
	return found / float64(hits), answers, same, refused
}

// verdictText sums up the outcome in a sentence, plus one about refused filters that the user did not ask for.
func verdictText(r *engine.CheckReport, asked bool) string {
	causes := maps.Clone(r.Causes)
	delete(causes, engine.CauseRefusal)
	more := ""
	if refused := r.RefusedSearches(); !asked && refused > 0 && causes[engine.CauseFilter] == refused {
		delete(causes, engine.CauseFilter)
		more = fmt.Sprintf(" It does not support the filter of %s.", plain.Count(refused, "search", "searches"))
	}
	return comparison(r, causes, verdict(r, asked) != nil) + more
}

func comparison(r *engine.CheckReport, causes map[string]int, differs bool) string {
	recall, answers, same, _ := checkSums(r)
	switch {
	case differs:
		if _, ties := causes[engine.CauseTies]; ties && len(causes) > 1 {
			delete(causes, engine.CauseTies)
		}
		return fmt.Sprintf("%s differs from the exact index: %s.",
			r.Engine, strings.Join(slices.Sorted(maps.Keys(causes)), ", "))
	case len(causes) == 0:
		return fmt.Sprintf("%s answers all %s as the exact index does, ties included.",
			r.Engine, plain.Count(answers, "question", "questions"))
	case causes[engine.CauseApprox] == 0:
		return fmt.Sprintf("%s finds items at the same distances as the exact index in all %s; only ties come "+
			"in another order, in %d of them.", r.Engine, plain.Count(answers, "answer", "answers"), answers-same)
	}
	return fmt.Sprintf("%s finds %.2f %% of the nearest items, as an approximate engine may, and differs in nothing else.",
		r.Engine, 100*recall)
}

// checkNotes returns further remarks for the page.
func checkNotes(r *engine.CheckReport) (notes []string) {
	recall, answers, same, refused := checkSums(r)
	notes = append(notes, fmt.Sprintf("%d of %d answers are the same; the recall over all of them is %.4f.",
		same, answers, recall))
	if r.Equal == r.Ours && r.Theirs == r.Ours {
		notes = append(notes, fmt.Sprintf("All %s are in the engine as they are in the index, bit by bit.",
			plain.Count(r.Ours, "item", "items")))
	} else {
		notes = append(notes, fmt.Sprintf("Of %d items in the index and %d in the engine, %d are equal.",
			r.Ours, r.Theirs, r.Equal))
	}
	if refused > 0 {
		notes = append(notes, plain.Count(refused, "search was", "searches were")+" refused and could not be compared.")
	}
	return notes
}
