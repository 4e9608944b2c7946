package main

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"hashgrove/method"
)

// bindMethod adds the flags of the other methods.
func (c *trainCommand) bindMethod(f *pflag.FlagSet) {
	f.StringVar(&c.method, "method", method.FastHash, strings.Join(method.Names(), ", "))
	f.IntVar(&c.options.PCA, "pca", 0, "other methods: reduce the vectors to so many principal components first; 0 means not at all")
	f.IntVar(&c.options.Anchors, "anchors", 0, "other methods: points that kernel methods and anchor graphs compare with; 0 means the method's own number")
	f.IntVar(&c.options.Rows, "rows", 0, "other methods: rows to learn from, at most; 0 means the method's own number, negative all")
}

// Flags of train for other methods alone, and for all methods. The rest are FastHash's own.
var (
	othersFlags = []string{"pca", "anchors", "rows"}
	commonFlags = []string{"bits", "output", "features", "mirror", "method", "hold-out", "pairs", "min-shared",
		"format", "vector", "label", "labels", "tags", "id", "ids", "skip-bad", "size", "fit", "grey",
		"json", "quiet", "seed", "threads"}
)

// checkMethod refuses flags that mean nothing to the method.
func (c *trainCommand) checkMethod(flags *pflag.FlagSet) error {
	own := othersFlags
	if c.method == method.FastHash {
		own = nil
	} else if _, ok := method.Describe(c.method); !ok {
		return usagef("there is no method %q; the methods are %s", c.method, strings.Join(method.Names(), ", "))
	}
	var err error
	flags.Visit(func(f *pflag.Flag) {
		known := slices.Contains(commonFlags, f.Name) || slices.Contains(own, f.Name)
		if c.method == method.FastHash {
			known = !slices.Contains(othersFlags, f.Name)
		}
		if !known && err == nil {
			err = usagef("--%s means nothing to the method %s", f.Name, c.method)
		}
	})
	if c.options.PCA < 0 || c.options.Anchors < 0 {
		return usagef("--pca %d and --anchors %d: give positive numbers", c.options.PCA, c.options.Anchors)
	}
	return err
}
