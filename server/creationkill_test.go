//go:build unix

package server_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// TestKilledAfterCreating kills the program once a collection is created, and while others are: what was acknowledged
// is there and can be filled, what was not is there wholly or not at all.
func TestKilledAfterCreating(t *testing.T) {
	f := makeFiles(t, t.TempDir())
	folder := filepath.Join(t.TempDir(), "made")
	p := run(t, f.shop, "--collections", folder)
	p.must(t, 200, "PUT", madePath, modelFile(t, "shop"), octets...)
	p.kill(t)

	p = run(t, f.shop, "--collections", folder)
	p.must(t, 200, "PUT", madePath+"/items/5", `{"vector":[1,2,3,4],"label":"caps"}`)
	acknowledged := make(chan []string)
	begun := make(chan bool, 1)
	go func() {
		var names []string
		for i := range 100_000 {
			name := fmt.Sprintf("n%d", i)
			if a, err := p.call("PUT", "/v1/collections/"+name, `{"like":"made"}`); err != nil || a.StatusCode != 200 {
				break
			}
			names = append(names, name)
			if i == 3 {
				begun <- true
			}
		}
		acknowledged <- names
	}()
	<-begun
	p.kill(t)
	names := <-acknowledged

	p = run(t, f.shop, "--collections", folder)
	if text := p.must(t, 200, "GET", madePath+"/items/5", ""); !strings.Contains(text, `"caps"`) {
		t.Errorf("after the second kill: %s", text)
	}
	for i, name := range append(names, fmt.Sprintf("n%d", len(names))) {
		path := "/v1/collections/" + name
		if i == len(names) { // the one that was not answered
			if a, err := p.call("PUT", path, `{"like":"made"}`); err != nil || a.StatusCode != 200 && a.StatusCode != 409 {
				t.Errorf("%s: %v, %v", name, a, err)
			}
		}
		p.must(t, 200, "PUT", path+"/items/1", `{"vector":[1,2,3,4]}`)
		p.must(t, 200, "DELETE", path, "")
	}
	p.stop(t)
	// A kill may leave a temporary file, which is swept when it is old enough, but no index.
	left, err := filepath.Glob(filepath.Join(folder, "*.hgi"))
	if err != nil || len(left) != 1 || filepath.Base(left[0]) != "made.hgi" {
		t.Errorf("the folder has %v, %v", left, err)
	}
}
