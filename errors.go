package hashgrove

import (
	"errors"

	"hashgrove/internal/dataset"
	"hashgrove/internal/message"
)

// HasCode reports whether an error, or one that it wraps, has a code. Codes are short hyphenated words that say what is
// wrong and not where, such as "empty-file" or "no-such-column"; unlike the words of a message they stay as they are.
// Searches and changes of an index have the errors of package api.
func HasCode(err error, code string) bool { return message.Is(err, message.Code(code)) }

// Setting returns what to set otherwise so that reading data succeeds: a field of Files or Columns, or Missing for
// Data.WithMissing. It returns "" for errors that no setting avoids.
func Setting(err error) string {
	if e, ok := errors.AsType[*dataset.SpecError](err); ok {
		return e.Field
	}
	return ""
}
