package hashgrove

import (
	"hashgrove/internal/fasthash"
	"hashgrove/internal/fasthash/affinity"
	"hashgrove/internal/fasthash/boost"
	"hashgrove/internal/fasthash/inference"
	"hashgrove/internal/gpu"
	"hashgrove/internal/method"
)

// Held out by default.
const (
	validationShare = 0.05
	validationRows  = 1000 // at most
	validationLeast = 200  // rows needed to hold any out
)

// Defaults returns the options that the zero value stands for, as far as they do not depend on Effort or on the data.
func Defaults() Options {
	step1, _ := inference.Options{}.WithDefaults() // the zero value is valid
	trees, _ := boost.Options{}.WithDefaults()
	return Options{
		Method: method.FastHash, Bits: fasthash.DefaultBits, Seed: fasthash.DefaultSeed, Device: gpu.Auto,
		MinShared: affinity.DefaultShared, Effort: string(fasthash.Normal),
		Trees: TreeOptions{MinNode: trees.MinNode},
		FastHash: FastHashOptions{
			Inference: string(step1.Method), Loss: string(step1.Loss), Sweeps: step1.Sweeps,
			Order: string(fasthash.Stagewise), Learner: string(fasthash.Auto),
		},
		Other: OtherOptions{Standardize: method.StandardizeAuto},
	}
}
