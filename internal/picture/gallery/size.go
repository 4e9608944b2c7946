package gallery

import (
	"bytes"
	"errors"
	"fmt"
)

// Size returns the width and height that an encoded picture claims, from its first bytes, or an error if it is no
// picture.
func Size(encoded []byte) (width, height int, err error) {
	c := sniff(encoded[:min(len(encoded), sniffed)])
	switch {
	case len(encoded) == 0:
		return 0, 0, errors.New("is empty")
	case c == nil:
		return 0, 0, fmt.Errorf("is not a picture: it does not begin like %s", codecNames)
	}
	defer func() { // as in decode
		if p := recover(); p != nil {
			err = fmt.Errorf("is a broken %s file (%v)", c.name, p)
		}
	}()
	config, err := c.config(bytes.NewReader(encoded))
	if err != nil {
		return 0, 0, c.broken(err)
	}
	return config.Width, config.Height, nil
}
