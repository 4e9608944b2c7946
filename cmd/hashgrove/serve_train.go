//go:build !notrain

package main

import (
	"github.com/spf13/pflag"

	"hashgrove"
	"hashgrove/internal/cli"
	"hashgrove/server"
	"hashgrove/server/workshop"
)

// bindTraining adds the flags for training on uploaded data.
func (c *serveCommand) bindTraining(f *pflag.FlagSet) {
	f.BoolVar(&c.noTrain, "no-train", false, "do not let people upload data to train on")
	f.Int64Var(&c.tryLimit, "try-limit", 64<<20, "maximum number of `BYTES` of an upload")
	bindDevice(f, &c.device)
	cli.Group(f, "Try your own")
}

// mountWorkshop lets visitors upload data, train on it and search it.
func (c *serveCommand) mountWorkshop(s *server.Server) (stop func() error, err error) {
	if c.noTrain || c.readOnly {
		return func() error { return nil }, nil
	}
	if c.tryLimit < 1 {
		return nil, cli.Usagef("--try-limit %d: give 1 or more bytes, or --no-train", c.tryLimit)
	}
	if err := (hashgrove.Options{Device: c.device}).Check(); err != nil {
		return nil, usage(err)
	}
	w := workshop.New(s, workshop.Options{MaxBytes: c.tryLimit, Threads: c.threads, Device: c.device})
	return w.Close, nil
}
