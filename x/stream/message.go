package stream

import (
	"context"
	"errors"
	"strings"
)

// Message is a message that a broker delivers or takes.
type Message struct {
	Topic   string // topic or subject: where it was found, or where it goes
	Key     string // the id of the item
	Value   []byte
	Headers []Header

	// Source is the place of a delivered message in its broker, the same whenever it is delivered again.
	Source string
	// Unique names a message that is published: a broker that can drop repeats goes by it.
	Unique string
	// Receipt is what the broker wants back in Done.
	Receipt any
}

// Header is a name and a value beside a message.
type Header struct{ Name, Value string }

// Broker is what the processor needs from Kafka, NATS or another broker. Receive is called by one goroutine, Publish
// and Done by another.
type Broker interface {
	// Receive waits for messages and returns those that are there, n at most. It returns none, without an error, when
	// nothing came for some seconds. Messages that come with an error are good.
	Receive(ctx context.Context, n int) ([]Message, error)
	// Publish returns when the broker has stored every message or said why not: nil, or an error or nil for each. With
	// ErrRefused it is of no use to try again.
	Publish(ctx context.Context, messages []Message) []error
	// Done tells the broker not to deliver the messages again. Those of a Receive are done together, and in the order of
	// the calls.
	Done(ctx context.Context, messages []Message) error
}

// ErrRefused is the error of a message that the broker will never take, as one that is too large.
var ErrRefused = errors.New("the broker refuses the message")

// The headers of published messages. All other headers of a message are passed on.
const (
	HeaderPrefix      = "hashgrove-"
	HeaderFingerprint = HeaderPrefix + "fingerprint" // of the model, all digits
	HeaderBits        = HeaderPrefix + "bits"        // length of the code
	HeaderSource      = HeaderPrefix + "source"      // Message.Source of the vector
	HeaderReason      = HeaderPrefix + "reason"      // what is wrong with a dead letter
	HeaderLeftOut     = HeaderPrefix + "left-out"    // bytes of a message that was too large for the dead letters
)

// Header returns the value of a header, or nothing. Case does not matter, as brokers differ in it.
func (m Message) Header(name string) string {
	for _, h := range m.Headers {
		if strings.EqualFold(h.Name, name) {
			return h.Value
		}
	}
	return ""
}

// passedOn is the headers of a message that are none of ours.
func (m Message) passedOn() []Header {
	var kept []Header
	for _, h := range m.Headers {
		if len(h.Name) < len(HeaderPrefix) || !strings.EqualFold(h.Name[:len(HeaderPrefix)], HeaderPrefix) {
			kept = append(kept, h)
		}
	}
	return kept
}
