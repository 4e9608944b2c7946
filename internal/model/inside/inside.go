// Package inside lets the other packages of this module look inside the types of package hashgrove, which programs
// elsewhere cannot. Package hashgrove sets the functions; all who call them import it anyway.
package inside

import (
	"context"

	"hashgrove/internal/dataset"
	"hashgrove/internal/model"
	"hashgrove/internal/vectors"
)

var (
	// Model returns the model inside a *hashgrove.Model or a *hashgrove.Training.
	Model func(m any) *model.Model

	// NewModel returns a *hashgrove.Model.
	NewModel func(m *model.Model) any

	// Spec returns the files of a *hashgrove.Data; no paths if its rows are not in files.
	Spec func(d any) dataset.Spec

	// NewData returns a *hashgrove.Data with the rows of a source.
	NewData func(rows vectors.Source) any

	// OpenTable opens a table as hashgrove.TableOptions say; package format/postgres sets it.
	OpenTable func(ctx context.Context, o any) (any, error)
)
