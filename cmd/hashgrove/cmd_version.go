package main

import (
	"cmp"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"hashgrove"
	"hashgrove/internal/cli"
)

// build names the build, such as 0.1.0-rc.1; make release sets it at link time.
var build string

func (a *app) version() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print version, build and processor features",
		Example: `  hashgrove version`,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			features := cli.CPUFeatures()
			platform := runtime.GOOS + "/" + runtime.GOARCH
			built := cmp.Or(build, hashgrove.Version)
			name := hashgrove.Version
			if built != name {
				name += ", build " + built
			}
			return a.printLine(map[string]any{
				"version": hashgrove.Version, "build": built, "go": runtime.Version(), "platform": platform,
				"cores": runtime.NumCPU(), "cpu": features,
			}, "hashgrove %s\n%s %s, %d cores, %s", name, runtime.Version(), platform,
				runtime.NumCPU(), strings.Join(features, " "))
		},
	}
}
