package engine

import (
	"context"
	"net/http"

	"hashgrove/internal/hamming"
)

// Misfit is what a script says that finds a table of other codes, or of others.
const Misfit = misfit

// RedisDo sends a command to the server of an engine.
func RedisDo(ctx context.Context, e Engine, words ...string) (any, error) {
	answers, err := e.(*redis).ask(ctx, words)
	if err != nil {
		return nil, err
	}
	return answers[0], nil
}

// RedisFloats returns a code of zeros as Redis expects it.
func RedisFloats(bits int) string { return floats(hamming.NewCodes(1, bits), 0) }

// SetTransport lets an engine that is reached over HTTP talk to something else.
func SetTransport(e Engine, t http.RoundTripper) {
	switch e := e.(type) {
	case *elastic:
		e.client.Transport = t
	case *milvus:
		e.client.Transport = t
	case *qdrant:
		e.client.Transport = t
	case *weaviate:
		e.client.Transport = t
	default:
		panic("an engine that is not reached over HTTP")
	}
}
