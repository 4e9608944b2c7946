//go:build (amd64 || arm64) && !purego

package hamming

// kernels returns the names of the kernels that this machine can run.
func kernels() []string { return levelNames[:bestLevel()+1] }

// use switches to the named kernels; tests compare them.
func use(name string) {
	for l, n := range levelNames {
		if n == name {
			level = l
		}
	}
}
