package store

import (
	"errors"
	"io"
	"log"
	"sync/atomic"
	"syscall"

	bolt "go.etcd.io/bbolt"
)

// causes is a logger of bbolt that remembers the last error of the system. When bbolt cannot make a file longer, it
// returns the text of the system's error without the error itself, so nobody could tell a full disk from a broken one;
// but it passes the error to its logger before.
type causes struct {
	bolt.DefaultLogger // discards everything
	last               atomic.Pointer[error]
}

func newCauses() *causes {
	return &causes{DefaultLogger: bolt.DefaultLogger{Logger: log.New(io.Discard, "", 0)}}
}

// Errorf implements bolt.Logger.
func (c *causes) Errorf(_ string, v ...any) {
	for _, x := range v {
		var number syscall.Errno
		if err, ok := x.(error); ok && errors.As(err, &number) {
			c.last.Store(&err)
		}
	}
}

// The formats of these are for people; nobody reads them.
func (c *causes) Debugf(string, ...any)   {}
func (c *causes) Infof(string, ...any)    {}
func (c *causes) Warningf(string, ...any) {}

// explain returns an error that is also its cause, if bbolt told one since the last call.
func (c *causes) explain(err error) error {
	cause := c.last.Swap(nil)
	if err == nil || cause == nil {
		return err
	}
	return &caused{err, *cause}
}

// caused is an error with a cause that its text already names.
type caused struct {
	error
	cause error
}

func (e *caused) Unwrap() []error { return []error{e.error, e.cause} }
