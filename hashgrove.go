// Package hashgrove is the front door.
package hashgrove

import (
	"hashgrove/model"
)

// Version is the release that a model names as its maker.
const Version = model.Version
