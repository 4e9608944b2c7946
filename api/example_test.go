package api_test

import (
	"encoding/json"
	"errors"
	"fmt"

	"hashgrove/api"
)

func Example() {
	r := &api.Request{Query: api.Query{Code: "ff00"}, Options: api.Options{K: new(3), Where: `label = "boots"`}}
	text, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(text))

	err = api.Errorf(api.ErrNotFound, "no item has the id %q", "shoe-7")
	fmt.Println(err, errors.Is(err, api.ErrNotFound), errors.Is(err, api.ErrExists))
	// Output:
	// {"code":"ff00","k":3,"where":"label = \"boots\""}
	// no item has the id "shoe-7" true false
}
