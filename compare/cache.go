package compare

import (
	"fmt"
	"path/filepath"
	"runtime/debug"
	"strings"

	"hashgrove/eval"
	"hashgrove/internal/trial"
	"hashgrove/model"
)

// The work folder holds one file for each finished task, under the digest of everything that decides its rows, and the
// checkpoint of an unfinished FastHash.

// entry is the contents of such a file.
type entry struct {
	Rows  []eval.Row
	Usage []eval.Usage // of each row
}

// cacheVersion changes when the meaning of rows changes.
const cacheVersion = 1

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

// path is the file of a task, without its suffix. The name is for people; the digest tells tasks apart.
func (s *stage) path(t *task) string {
	base, queries := s.data.Base, s.data.Queries
	key := trial.Key(cacheVersion, program(), base.HexDigest(), queries.HexDigest(), base.MinShared,
		s.o.PCA, s.held, s.o.Seed, t.method, t.bits, t.options)
	name := t.method
	if len(t.bits) > 0 {
		name += "-" + strings.ReplaceAll(strings.Trim(fmt.Sprint(t.bits), "[]"), " ", "-")
	}
	return filepath.Join(s.o.Work, name+"-"+key)
}

// checkpoint is the folder of an unfinished training of a task, "" without a work folder.
func (s *stage) checkpoint(t *task, part string) string {
	if s.o.Work == "" {
		return ""
	}
	return s.path(t) + "." + part + ".ckpt"
}

// The parts of the base that methods are trained on.
const (
	allRows  = "base"
	seenRows = "unseen" // without the held-out classes
)

// loadRows returns the rows that an earlier run has kept.
func (s *stage) loadRows(t *task) ([]eval.Row, bool) {
	if s.o.Work == "" || s.o.Restart {
		return nil, false
	}
	e, ok := trial.Load[entry](s.path(t) + ".json")
	if !ok || len(e.Rows) == 0 || len(e.Usage) != len(e.Rows) {
		return nil, false
	}
	for i := range e.Rows {
		e.Rows[i].Usage = e.Usage[i]
	}
	return e.Rows, true
}

// saveRows keeps the rows of a finished task, whose checkpoints are not needed any more.
func (s *stage) saveRows(t *task, rows []eval.Row) error {
	if s.o.Work == "" {
		return nil
	}
	e := entry{Rows: rows}
	for _, r := range rows {
		e.Usage = append(e.Usage, r.Usage)
	}
	if err := trial.Save(s.path(t)+".json", e); err != nil {
		return err
	}
	if err := trial.Discard(s.checkpoint(t, allRows)); err != nil {
		return err
	}
	return trial.Discard(s.checkpoint(t, seenRows))
}
