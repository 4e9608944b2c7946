package main

import (
	"cmp"
	"fmt"
	"slices"

	"hashgrove/internal/cli"
	"hashgrove/internal/dataset"
	"hashgrove/internal/fault"
	"hashgrove/internal/model"
	"hashgrove/internal/picture"
	"hashgrove/internal/plain"
)

// forSimilarity returns the flags with either labels or tags as the source of similarity. Tags given as a flag take
// precedence over classes that the data happen to have.
func (d dataFlags) forSimilarity() (dataFlags, error) {
	labelled := d.Label != "" || len(d.LabelsFile) > 0
	if labelled && d.Tags != "" {
		return d, cli.Usage("conflicting-flags",
			"both labels and tags are given, but only one can say which rows are similar: "+
				"leave out --tags %s, or --label and --labels", d.Tags)
	}
	d.similar, d.TagsAlone = true, d.Tags != ""
	return d, nil
}

// asModel reads the columns, by name, that the model was trained on.
func (d *dataFlags) asModel(m *model.Model) { d.Follow(m.Schema(), d.similar) }

// learnedColumns formats the columns stored in a model, or returns "".
func learnedColumns(f *model.Info) string {
	text := cmp.Or(f.Vector, plain.Runs(f.Features))
	for _, c := range [][2]string{{"label", f.Label}, {"tags", f.Tags}} {
		if c[1] != "" && text != "" {
			text += fmt.Sprintf("; %s: %s", c[0], c[1])
		}
	}
	return text
}

// columnReport says which columns form the vector, for inspect and train with --json.
type columnReport struct {
	Vector []string `json:"vector_columns,omitempty"`
	Label  string   `json:"label_column,omitempty"`
	Tags   string   `json:"tags_column,omitempty"`
	ID     string   `json:"id_column,omitempty"`
	Unused []string `json:"unused_columns,omitempty"`
}

func columnsOf(set *dataset.Set) columnReport {
	c := set.Columns()
	return columnReport{c.Vector, c.Label, c.Tags, c.ID, c.Unused}
}

// vectorText formats the columns of the vector.
func (r columnReport) vectorText(dims int) string {
	if len(r.Vector) == 1 && dims > 1 {
		return fmt.Sprintf("%s (lists of %d numbers)", r.Vector[0], dims)
	}
	return fmt.Sprintf("%s (%s)", plain.Runs(r.Vector), plain.Count(len(r.Vector), "column", "columns"))
}

// noteColumns says which columns are used for training.
func (a *app) noteColumns(r columnReport, dims int) {
	if len(r.Vector) == 0 {
		return
	}
	text := "vector: " + r.vectorText(dims)
	if len(r.Unused) > 0 {
		text += "; not used: " + plain.Runs(r.Unused)
	}
	a.note("%s", cli.Printable(text))
}

// openLike opens data with the same columns, by name, as other, which may be nil.
func (d dataFlags) openLike(other *dataset.Set, paths []string, as *picture.Preparation) (*dataset.Set, error) {
	if other == nil || len(other.Names()) == 0 {
		return d.open(paths, as)
	}
	c := other.Columns()
	d.Vector = "" // it selected columns in the other data
	d.Known = &c
	set, err := d.open(paths, as)
	if err != nil || len(set.Names()) == 0 || slices.Equal(set.Names(), other.Names()) {
		return set, err
	}
	have := set.Names()
	missing := slices.DeleteFunc(slices.Clone(other.Names()), func(s string) bool { return slices.Contains(have, s) })
	return nil, fault.New("columns-mismatch", "%s: its columns differ from those of %s; missing: %s",
		paths[0], other.Files()[0], cmp.Or(plain.Runs(missing), "none, but there are extra ones"))
}
