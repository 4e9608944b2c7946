package main

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sys/cpu"

	"hashgrove"
	"hashgrove/internal/cli"
)

func (a *app) version() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print version, build and processor features",
		Example: `  hashgrove version`,
		Args:    cli.NoArguments,
		RunE: func(*cobra.Command, []string) error {
			features := cpuFeatures()
			if a.json {
				return a.printJSON(map[string]any{
					"version": hashgrove.Version, "go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH,
					"cores": runtime.NumCPU(), "cpu": features,
				})
			}
			fmt.Fprintf(a.out, "hashgrove %s\n%s %s/%s, %d cores, %s\n", hashgrove.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH,
				runtime.NumCPU(), strings.Join(features, " "))
			return nil
		},
	}
}

// cpuFeatures lists the features of the processor that matter here.
func cpuFeatures() []string {
	features := []string{}
	for _, f := range []struct {
		name string
		has  bool
	}{
		{"popcnt", cpu.X86.HasPOPCNT}, {"avx2", cpu.X86.HasAVX2}, {"fma", cpu.X86.HasFMA}, {"bmi2", cpu.X86.HasBMI2},
		{"avx512", cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW}, {"asimd", cpu.ARM64.HasASIMD},
	} {
		if f.has {
			features = append(features, f.name)
		}
	}
	return features
}
