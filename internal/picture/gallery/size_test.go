package gallery

import (
	"bytes"
	"image"
	"image/png"
	"testing"
)

func TestSize(t *testing.T) {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 7, 5))); err != nil {
		t.Fatal(err)
	}
	if w, h, err := Size(b.Bytes()); w != 7 || h != 5 || err != nil {
		t.Errorf("%d x %d, %v", w, h, err)
	}
	for _, bad := range [][]byte{nil, []byte("hello"), b.Bytes()[:12]} {
		if _, _, err := Size(bad); err == nil {
			t.Errorf("%q has a size", bad)
		}
	}
}
