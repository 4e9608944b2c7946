//go:build notrain

package main

import (
	"github.com/spf13/pflag"

	"hashgrove/server"
)

// bindTraining adds no flags: this build cannot train on uploads.
func (c *serveCommand) bindTraining(*pflag.FlagSet) {}

// mountWorkshop does nothing in this build.
func (c *serveCommand) mountWorkshop(*server.Server) (stop func() error, err error) {
	return func() error { return nil }, nil
}
