package fencetest

import (
	"runtime/debug"
	"testing"
	"unsafe"

	"hashgrove/internal/testkit/needs"
)

func TestMemoryEndsBehindASlice(t *testing.T) {
	if !Fenced {
		needs.Skip(t, needs.Mapping, "memory cannot be made to end on this system")
	}
	debug.SetPanicOnFault(true)
	defer debug.SetPanicOnFault(false)
	for _, n := range []int{1, 7, 4096, 70_000} {
		s := Slice[float32](t, n)
		for i := range s {
			s[i]++
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("the value behind %d others can be read", n)
				}
			}()
			behind := *(*uint8)(unsafe.Add(unsafe.Pointer(&s[n-1]), 4))
			t.Log(behind)
		}()
	}
	if Slice[uint8](t, 0) != nil {
		t.Error("a slice of nothing has something")
	}
}
