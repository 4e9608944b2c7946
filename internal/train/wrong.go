package train

import "hashgrove/internal/message"

// Name is the name of an option in the message of an OptionError.
type Name = option

// Wrong returns an OptionError. Its message names options by arguments of type Name.
func Wrong(code message.Code, format string, args ...any) error { return wrong(code, format, args...) }
