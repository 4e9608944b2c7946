package main

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"hashgrove/internal/cli"
	"hashgrove/internal/method"
)

// Groups of flags of train that only some methods take.
const (
	groupFastHash = "FastHash"
	groupStep1    = "Step 1 of FastHash: choose the bits"
	groupStep2    = "Step 2 of FastHash: learn to predict them"
	groupOthers   = "Other methods"
)

// checkMethod reports flags that do not apply to the method.
func (c *trainCommand) checkMethod(flags *pflag.FlagSet) error {
	if _, ok := method.Describe(c.method); !ok {
		return cli.Usage("no-such-method", "there is no method %q; the methods are %s", c.method,
			strings.Join(method.Names(), ", "))
	}
	foreign := []string{groupFastHash, groupStep1, groupStep2}
	if c.method == method.FastHash {
		foreign = []string{groupOthers}
	}
	var err error
	flags.Visit(func(f *pflag.Flag) {
		if err == nil && slices.Contains(foreign, cli.GroupOf(f)) {
			err = cli.Usage("wrong-method", "--%s does not apply to the method %s", f.Name, c.method)
		}
	})
	if c.options.PCA < 0 || c.options.Anchors < 0 {
		return cli.Usage("bad-flag-value",
			"--pca %d and --anchors %d: give positive numbers", c.options.PCA, c.options.Anchors)
	}
	if _, unknown := method.New(c.method, c.options); err == nil && unknown != nil {
		return cli.UsageError(unknown)
	}
	return err
}
