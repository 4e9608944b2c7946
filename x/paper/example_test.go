package paper_test

import (
	"fmt"
	"log"

	"hashgrove/x/paper"
)

// Experiments go by name. Run takes a Runner: where the data sets and the cache lie, or Short for built-in pictures.
func ExampleFind() {
	experiment, err := paper.Find("cifar10-features")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(experiment.Name, experiment.Run != nil)
	// Output: cifar10-features true
}
