//go:build darwin || linux

package fencetest

import (
	"syscall"
	"testing"
)

// bytes returns the last n bytes before an unreadable page.
func bytes(t testing.TB, n int) []byte {
	t.Helper()
	page := syscall.Getpagesize()
	room := (n + page - 1) / page * page
	all, err := syscall.Mmap(-1, 0, room+page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Munmap(all); err != nil {
			t.Error(err)
		}
	})
	if err := syscall.Mprotect(all[room:], syscall.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	return all[room-n : room]
}
