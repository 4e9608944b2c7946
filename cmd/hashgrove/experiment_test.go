package main

import (
	"strings"
	"testing"
)

func TestExperimentWithoutItsDataNamesTheFlag(t *testing.T) {
	o := try(t, "experiment", "cifar10-features", "--data", "nowhere", "--cache", t.TempDir())
	if o.code != 1 || !strings.Contains(o.err, "data_batch_1.bin is not there") || !strings.Contains(o.err, "--data") {
		t.Errorf("exit %d\n%s", o.code, o.err)
	}
}
