package compare

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	"hashgrove/internal/section"
	"hashgrove/model"
	"hashgrove/report"
)

// The work folder holds one file for each finished task, under the digest of everything that decides its rows, and the
// checkpoint of an unfinished FastHash.

// entry is the contents of such a file.
type entry struct {
	Rows  []Row
	Usage []report.Usage // of each row
}

// cacheVersion changes when rows come to mean something else.
const cacheVersion = 1

// digest is the digest of what decides a result.
func digest(inputs ...any) string {
	b, err := json.Marshal(inputs)
	if err != nil {
		panic("compare: options do not marshal: " + err.Error())
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:12])
}

// program names the program that computes the rows: its version and, where the build knows it, its revision.
func program() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				return model.Version + " " + s.Value
			}
		}
	}
	return model.Version
}

// path is the file of a task, without its suffix. The name is for people, the digest for us.
func (s *stage) path(t *task) string {
	d := s.data
	key := digest(cacheVersion, program(), d.Base.Mark, d.Queries.Mark, d.Base.MinShared, s.o.PCA, s.held, s.o.Seed, t.method, t.bits, t.options)
	name := t.method
	if len(t.bits) > 0 {
		name += "-" + strings.ReplaceAll(strings.Trim(fmt.Sprint(t.bits), "[]"), " ", "-")
	}
	return filepath.Join(s.o.Work, name+"-"+key)
}

// recall returns the rows that an earlier run has kept. A file that is damaged counts as none.
func (s *stage) recall(t *task) ([]Row, bool) {
	if s.o.Work == "" || s.o.Restart {
		return nil, false
	}
	b, err := os.ReadFile(s.path(t) + ".json")
	if err != nil {
		return nil, false
	}
	var e entry
	if json.Unmarshal(b, &e) != nil || len(e.Rows) == 0 || len(e.Usage) != len(e.Rows) {
		return nil, false
	}
	for i := range e.Rows {
		e.Rows[i].Usage = e.Usage[i]
	}
	return e.Rows, true
}

// keep writes the rows of a finished task.
func (s *stage) keep(t *task, rows []Row) error {
	if s.o.Work == "" {
		return nil
	}
	e := entry{Rows: rows}
	for _, r := range rows {
		e.Usage = append(e.Usage, r.Usage)
	}
	if err := section.WriteFile(s.path(t)+".json", func(w io.Writer) error { return json.NewEncoder(w).Encode(e) }); err != nil {
		return err
	}
	for _, part := range []string{"base", "unseen"} { // they have done their part
		if err := os.RemoveAll(s.checkpoint(t, part)); err != nil {
			return err
		}
		if err := os.RemoveAll(s.checkpoint(t, part) + ".json"); err != nil {
			return err
		}
	}
	return nil
}
