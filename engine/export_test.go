package engine

import (
	"context"

	"hashgrove/hamming"
)

// RedisDo sends a command to the server of an engine.
func RedisDo(ctx context.Context, e Engine, words ...string) (any, error) {
	answers, err := e.(*redis).ask(ctx, words)
	if err != nil {
		return nil, err
	}
	return answers[0], nil
}

// RedisFloats is a code of zeros as Redis takes it.
func RedisFloats(bits int) string { return floats(hamming.NewCodes(1, bits), 0) }
