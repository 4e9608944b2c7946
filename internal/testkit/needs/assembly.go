//go:build (amd64 || arm64) && !purego

package needs

// assembly is whether kernels in assembly are part of this build.
const assembly = true
