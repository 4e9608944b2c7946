package par

import "golang.org/x/sys/cpu"

// CPUFeatures lists the processor features this program makes use of.
func CPUFeatures() []string {
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
