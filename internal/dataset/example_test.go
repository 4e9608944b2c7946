package dataset_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"hashgrove/internal/dataset"
	"hashgrove/internal/supervision"
)

// writeFile writes a file for an example and returns its path.
func writeFile(name, text string) string {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		log.Fatal(err)
	}
	return path
}

func ExampleOpen() {
	path := writeFile("items.csv", "sku,width,height,category\na1,1,2,hats\na2,3,4,boots\na3,5,6,hats\n")
	defer os.RemoveAll(filepath.Dir(path))
	set, err := dataset.Open(dataset.Spec{Paths: []string{path}, Label: "category", ID: "sku"})
	if err != nil {
		log.Fatal(err)
	}
	data, err := supervision.Scan(context.Background(), set, supervision.ScanOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(set.Format(), data.Rows, "rows of", set.Names(), "in the classes", data.Labels.Names)
	// Output: csv 3 rows of [width height] in the classes [boots hats]
}

// An error that another setting would avoid says which.
func ExampleSpecError() {
	path := writeFile("items.jsonl", `{"image": [1, 2], "text": [3]}`+"\n")
	defer os.RemoveAll(filepath.Dir(path))
	_, err := dataset.Open(dataset.Spec{Paths: []string{path}})
	if e, ok := errors.AsType[*dataset.SpecError](err); ok {
		fmt.Println("set", e.Field)
	}
	// Output: set Vector
}
