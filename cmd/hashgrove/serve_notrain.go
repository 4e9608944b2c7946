//go:build notrain

package main

import (
	"github.com/spf13/pflag"

	"hashgrove/server"
)

// bindTraining adds no flags: this build cannot learn from what people upload.
func (c *serveCommand) bindTraining(*pflag.FlagSet) {}

// mountWorkshop mounts nothing.
func (c *serveCommand) mountWorkshop(*server.Server) (stop func() error, err error) {
	return func() error { return nil }, nil
}
