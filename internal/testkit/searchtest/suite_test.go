package searchtest_test

import (
	"testing"

	"hashgrove/api"
	"hashgrove/internal/testkit/searchtest"
)

// TestOracle: the oracle passes the suite itself, whose relations do not depend on it.
func TestOracle(t *testing.T) {
	searchtest.Run(t, func(_ *testing.T, w *searchtest.World) api.Searcher { return searchtest.Oracle{World: w} },
		searchtest.Everything)
}
