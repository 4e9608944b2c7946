package main

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"hashgrove/internal/cli"
	"hashgrove/internal/fasthash"
	"hashgrove/internal/fault"
	"hashgrove/internal/supervision"
	"hashgrove/internal/vectors"
)

// memoryFlag is --memory of train: how much memory it may take, and what became of that.
type memoryFlag struct {
	text   string
	budget int64 // bytes; 0 means no limit
	room   *vectors.Memory
	report *budgetReport
}

// budgetReport is what train --memory --json says of it.
type budgetReport struct {
	Budget   int64 `json:"budget_bytes"`
	Estimate int64 `json:"estimate_bytes"` // with everything in memory
	Least    int64 `json:"least_bytes"`    // with files
	Mapped   bool  `json:"mapped"`
	InMemory int64 `json:"in_memory_bytes,omitempty"` // of arrays of rows that stayed there
	Files    int64 `json:"file_bytes,omitempty"`      // in mapped files, at most
}

func (m *memoryFlag) bind(f *pflag.FlagSet) {
	f.StringVar(&m.text, "memory", "", "`SIZE` of memory to take at most, such as 8GB: what does not fit lies in mapped "+
		"files in the folder of the model, or in TMPDIR; the model is the same, byte for byte (default no limit)")
}

// leastBudget is the least that --memory may be: Go itself takes some.
const leastBudget = 64 << 20

// parse reads the flag.
func (m *memoryFlag) parse(features string) (err error) {
	if m.text == "" {
		return nil
	}
	if m.budget, err = parseBytes(m.text); err != nil {
		return cli.Usage("bad-flag-value", "--memory %s: %v", m.text, err)
	}
	if m.budget < leastBudget {
		return cli.Usage("too-small", "--memory %s: nothing can be learned in less than %s", m.text, cli.Size(leastBudget))
	}
	if features != "" {
		return cli.Usage("conflicting-flags",
			"--memory and --features cannot be combined: write the vectors first, with \"hashgrove features\"")
	}
	return nil
}

// parseBytes reads a number of bytes: 800MB, 8GB, 1.5TB, or 512MiB, 8GiB in powers of 1024; a bare number is bytes.
func parseBytes(text string) (int64, error) {
	units := []struct {
		name  string
		bytes float64
	}{
		{"tib", 1 << 40}, {"gib", 1 << 30}, {"mib", 1 << 20}, {"kib", 1 << 10},
		{"tb", 1e12}, {"gb", 1e9}, {"mb", 1e6}, {"kb", 1e3},
		{"t", 1e12}, {"g", 1e9}, {"m", 1e6}, {"k", 1e3}, {"b", 1}, {"", 1},
	}
	lower := strings.ToLower(strings.TrimSpace(text))
	for _, u := range units {
		number, ok := strings.CutSuffix(lower, u.name)
		if !ok {
			continue
		}
		x, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err != nil || !(x > 0) || x*u.bytes > math.MaxInt64/2 {
			break
		}
		return int64(x * u.bytes), nil
	}
	return 0, errors.New("give a size such as 800MB, 8GB or 8GiB")
}

// limitMemory keeps the program within the budget from now on; the function that it returns ends that.
func (m *memoryFlag) limitMemory(output string) (end func()) {
	if m.budget == 0 {
		return func() {}
	}
	folder := cmp.Or(os.Getenv("TMPDIR"), filepath.Dir(output))
	m.room = vectors.NewMemory(folder)
	before := debug.SetMemoryLimit(m.budget - m.budget/10)
	return func() {
		debug.SetMemoryLimit(before)
		_ = m.room.Close() // the files have no names, so nothing is left
	}
}

// planMemory decides where what grows with the rows lies.
func (c *trainCommand) planMemory(d *supervision.Data) error {
	m := &c.memory
	if m.budget == 0 {
		return nil
	}
	o := c.options.FastHash
	o.Bits = c.options.Bits
	need, err := o.Need(d, c.options.Validation > 0)
	if err != nil {
		return err
	}
	m.report = &budgetReport{Budget: m.budget, Estimate: need.Memory(), Least: need.Least()}
	size := cli.Size[int64]
	switch {
	case need.Memory() <= m.budget:
		c.note("all rows fit in memory: about %s of %s", size(need.Memory()), size(m.budget))
		return nil
	case need.Least() > m.budget:
		return fault.New("not-enough-memory",
			"%d rows of %d columns take about %s of memory, and with files for all that can be in files at "+
				"least %s: --memory %s is not enough", need.Rows, need.Columns, size(need.Memory()), need, m.text)
	}
	c.note("%d rows of %d columns would take about %s of memory: mapped files of up to %s keep it below %s",
		need.Rows, need.Columns, size(need.Memory()), size(need.Files()), size(m.budget))
	m.report.Mapped = true
	m.room.Allow((m.budget - need.Least()) * 9 / 10)
	c.options.Run.Memory = m.room
	return nil
}

// explain adds the flags to errors that concern the memory.
func (m *memoryFlag) explain(err error) error {
	if !errors.Is(err, fasthash.ErrNeedsMemory) {
		return err
	}
	advice := "give a greater --memory, or leave that out"
	if strings.Contains(err.Error(), "linear columns") {
		advice = "give a greater --memory, or leave them out with --linear-columns off"
	}
	return fmt.Errorf("%w: %s", err, advice)
}

// finished completes the report.
func (m *memoryFlag) finished() *budgetReport {
	if m.report != nil && m.report.Mapped {
		m.report.InMemory, m.report.Files = m.room.Sizes()
	}
	return m.report
}

// String is a line about the memory, or nothing.
func (r *budgetReport) String() string {
	if r == nil || !r.Mapped {
		return ""
	}
	return fmt.Sprintf("mapped files: %s; arrays of rows in memory: %s\n",
		cli.Size(r.Files), cli.Size(r.InMemory))
}
