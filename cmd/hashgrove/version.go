package main

import (
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"hashgrove"
	"hashgrove/internal/cli"
	"hashgrove/internal/machine"
)

func (a *app) version() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print version, build and processor features",
		Example: `  hashgrove version`,
		Args:    cli.NoArguments,
		RunE: func(*cobra.Command, []string) error {
			features := machine.CPUFeatures()
			platform := runtime.GOOS + "/" + runtime.GOARCH
			return a.printLine(map[string]any{
				"version": hashgrove.Version, "go": runtime.Version(), "platform": platform,
				"cores": runtime.NumCPU(), "cpu": features,
			}, "hashgrove %s\n%s %s, %d cores, %s", hashgrove.Version, runtime.Version(), platform,
				runtime.NumCPU(), strings.Join(features, " "))
		},
	}
}
