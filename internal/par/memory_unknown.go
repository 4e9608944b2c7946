//go:build !linux

package par

// Memory returns the bytes of memory that this process may use at most. 0 means unknown.
func Memory() int64 { return 0 }
