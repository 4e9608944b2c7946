package server_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"hashgrove/api"
)

// TestPictures looks at all thumbnails, and searches by pictures in the body and in JSON.
func TestPictures(t *testing.T) {
	s := serve(t, nil)
	pictures, labels := photoPictures()
	path := func(i int, size string) string {
		return photos + "/pictures/" + url.PathEscape(s.files.picture(fmt.Sprintf("%s/p%02d.png", labels[i], i))) + size
	}
	until(t, "the last picture, which is made in the background", func() bool {
		a, err := s.call("GET", path(len(pictures)-1, ""), "")
		return err == nil && a.StatusCode == 200
	})
	for i := range pictures {
		for size, most := range map[string]int{"": 160, "?size=48": 48, "?size=512": 160} {
			c, _, err := image.DecodeConfig(strings.NewReader(s.must(t, 200, "GET", path(i, size), "")))
			if err != nil || c.Width > most || c.Height > most {
				t.Errorf("%d%s: %d x %d, %v", i, size, c.Width, c.Height, err)
			}
		}
	}
	s.must(t, 400, "GET", path(0, "?size=100000"), "")
	for i, p := range pictures[:4] {
		file := pngBytes(p)
		var a, b api.Answer
		ok(t, json.Unmarshal([]byte(s.must(t, 200, "POST", photos+"/search?k=3", string(file), "Content-Type", "image/png")), &a))
		coded := base64.StdEncoding.EncodeToString(file)
		ok(t, json.Unmarshal([]byte(s.must(t, 200, "POST", photos+"/search", `{"k":3,"picture":"`+coded+`"}`)), &b))
		if hits := a.Results[0].Hits; hits[0].Label != labels[i] || !reflect.DeepEqual(hits, b.Results[0].Hits) {
			t.Errorf("picture %d of %s: %+v, and in JSON %+v", i, labels[i], hits, b.Results[0].Hits)
		}
		s.must(t, 400, "POST", photos+"/search", string(file[:60]), "Content-Type", "image/png")
	}
}
