//go:build !(amd64 || arm64) || purego

package needs

// assembly reports whether this build includes kernels in assembly.
const assembly = false
