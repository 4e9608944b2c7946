package par

import "golang.org/x/sys/unix"

func ask(b []byte, collect bool) {
	_ = unix.Madvise(b, unix.MADV_HUGEPAGE)
	if collect {
		_ = unix.Madvise(b, unix.MADV_COLLAPSE)
	}
}
