package main

import (
	"testing"

	"hashgrove/x/paper"
)

func TestExperimentWithoutItsDataNamesTheFlag(t *testing.T) {
	refusal{"experiment cifar10-features --data nowhere --cache " + t.TempDir(), 1, paper.ErrMissing, "data_batch_1.bin --data"}.try(t)
}
