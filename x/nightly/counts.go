//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"hashgrove/internal/fault"
)

// report is what a night leaves behind.
type report struct {
	Date    time.Time        `json:"date"`
	Commit  string           `json:"commit"`
	Go      string           `json:"go"`
	System  string           `json:"system"`
	Cores   int              `json:"cores"`
	Scale   float64          `json:"scale"`
	Whole   bool             `json:"whole"` // all stages, in full
	Seconds float64          `json:"seconds"`
	Stages  []stageResult    `json:"stages"`
	Counts  map[string]int64 `json:"counts"` // of all stages
}

type stageResult struct {
	Name    string           `json:"name"`
	About   string           `json:"about"`
	Commit  string           `json:"commit"`
	Seconds float64          `json:"seconds"`
	Passed  bool             `json:"passed"`
	Counts  map[string]int64 `json:"counts"`
}

var countLine = regexp.MustCompile(`(?:^|: )count: (\S.*?) (\d+)$`)

// counted reads a line "count: NAME NUMBER", as tests and commands print it, with or without the place in a test.
func counted(line string) (name string, n int64, found bool) {
	m := countLine.FindStringSubmatch(strings.TrimSpace(line))
	if m == nil {
		return "", 0, false
	}
	n, err := strconv.ParseInt(m[2], 10, 64)
	return m[1], n, err == nil
}

func (r *report) failed() (names []string) {
	for _, s := range r.Stages {
		if !s.Passed {
			names = append(names, s.Name)
		}
	}
	return names
}

// save adds the counts of all stages up and writes the report into the folder of the night.
func (r *report) save(folder string) error {
	r.Counts = map[string]int64{}
	for _, s := range r.Stages {
		for name, n := range s.Counts {
			r.Counts[name] += n
		}
	}
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "report.json"), append(b, '\n'), 0o666)
}

// lastReport reads the report of the last night.
func lastReport(folder string) (r report, err error) {
	b, err := os.ReadFile(filepath.Join(folder, "report.json"))
	if err != nil {
		return r, fmt.Errorf("%w: run make nightly first", err)
	}
	if err := json.Unmarshal(b, &r); err != nil {
		return r, fmt.Errorf("%s: %w", folder, err)
	}
	return r, nil
}

// text is the report as a page.
func (r *report) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# The last night\n\n")
	fmt.Fprintf(&b, "`make nightly` on %s, commit %s, %s on %s with %d cores, %.0f minutes in all. The page is made by\n"+
		"`go run ./x/nightly record`, from a night whose stages have all passed; no number is written by hand.\n",
		r.Date.Format("2006-01-02 15:04 UTC"), r.Commit, r.Go, r.System, r.Cores, r.Seconds/60)
	if slices.ContainsFunc(r.Stages, func(s stageResult) bool { return s.Commit != r.Commit }) {
		fmt.Fprintf(&b, "Stages that failed at first were run again after a fix, at the commit that stands beside them.\n")
	}
	if !r.Whole {
		fmt.Fprintf(&b, "\nIt was not the whole night: %d stages, at %g of the time.\n", len(r.Stages), r.Scale)
	}
	fmt.Fprintf(&b, "\n| counted | times |\n|---|---:|\n")
	for _, name := range slices.Sorted(maps.Keys(r.Counts)) {
		fmt.Fprintf(&b, "| %s | %s |\n", name, grouped(r.Counts[name]))
	}
	fmt.Fprintf(&b, "\n| stage | what it does | commit | minutes | |\n|---|---|---|---:|---|\n")
	for _, s := range r.Stages {
		passed := "passed"
		if !s.Passed {
			passed = "failed"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %.1f | %s |\n", s.Name, s.About, s.Commit, math.Round(s.Seconds/6)/10, passed)
	}
	return b.String()
}

// grouped is a number with commas between groups of three digits.
func grouped(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// row is a promise in docs/promises.md, whose last cell names what is counted for it, each with the number of the last
// night: "kills 1,000, faults injected 20".
var row = regexp.MustCompile(`(?m)^(\| \[[^|]*\| [^|]* \| )([^|]*?)( \|)$`)

var number = regexp.MustCompile(` [\d,]+$`)

// fill puts the counts of a night into the rows of the promises.
func (r *report) fill(promises string) (string, error) {
	var missing []string
	filled := row.ReplaceAllStringFunc(promises, func(line string) string {
		m := row.FindStringSubmatch(line)
		names := strings.Split(m[2], ", ")
		for i, name := range names {
			name = number.ReplaceAllString(name, "")
			if n, there := r.Counts[name]; there {
				names[i] = name + " " + grouped(n)
			} else if name != "" {
				missing = append(missing, name)
			}
		}
		return m[1] + strings.Join(names, ", ") + m[3]
	})
	if missing != nil {
		return "", fault.New("not-counted", "the night did not count what a promise names: %s", strings.Join(missing, ", "))
	}
	return filled, nil
}

// record makes the page of the last night, if all of it passed, and puts its counts beside the promises.
func record(folder, page, promises string) error {
	r, err := lastReport(folder)
	if err != nil {
		return err
	}
	if failed := r.failed(); failed != nil {
		return fault.New("failed", "the counts stay as they were, because these stages failed: %s",
			strings.Join(failed, ", "))
	}
	if !r.Whole {
		return fault.New("not-whole", "the counts stay as they were, because the last night was not a whole one: "+
			"run it without -only and -scale")
	}
	for _, s := range r.Stages {
		if strings.HasSuffix(s.Commit, "with changes") {
			return fmt.Errorf("the counts stay as they were, because of the commit %s: commit the changes first", s.Commit)
		}
	}
	b, err := os.ReadFile(promises)
	if err != nil {
		return err
	}
	filled, err := r.fill(string(b))
	if err != nil {
		return err
	}
	if err := os.WriteFile(promises, []byte(filled), 0o666); err != nil {
		return err
	}
	return os.WriteFile(page, []byte(r.text()), 0o666)
}
