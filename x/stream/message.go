package stream

import (
	"context"
	"errors"
	"strings"
)

// Message is a message that a broker delivers or accepts.
type Message struct {
	Topic   string // topic or subject: where it was found, or where it goes
	Key     string // the id of the item
	Value   []byte
	Headers []Header

	// Source identifies a delivered message within its broker, and stays the same when it is delivered again.
	Source string
	// Unique identifies a published message, for brokers that can drop repeats.
	Unique string
	// Receipt is what the broker needs in Done.
	Receipt any
}

// Header is a named value attached to a message.
type Header struct{ Name, Value string }

// Broker is what the processor needs from Kafka, NATS or another broker. Receive is called by one goroutine, Publish
// and Done by another.
type Broker interface {
	// Receive waits for messages and returns those available, at most n. It returns none, without an error, if nothing
	// came for some seconds. Messages returned with an error are valid.
	Receive(ctx context.Context, n int) ([]Message, error)
	// Publish returns when the broker has stored every message or said why not: nil, or an error or nil for each. After
	// ErrRefused there is no point in trying again.
	Publish(ctx context.Context, messages []Message) []error
	// Done tells the broker not to deliver the messages again. Messages of one Receive are done together, in the order
	// of the calls.
	Done(ctx context.Context, messages []Message) error
}

// ErrRefused is returned for a message that the broker will never accept, such as one that is too large.
var ErrRefused = errors.New("the broker refuses the message")

// Headers of published messages. All other headers of a message are passed on.
const (
	HeaderPrefix      = "hashgrove-"
	HeaderFingerprint = HeaderPrefix + "fingerprint" // of the model, all digits
	HeaderBits        = HeaderPrefix + "bits"        // length of the code
	HeaderSource      = HeaderPrefix + "source"      // Message.Source of the vector
	HeaderReason      = HeaderPrefix + "reason"      // what is wrong with a dead letter
	HeaderLeftOut     = HeaderPrefix + "left-out"    // bytes of a message that was too large for the dead letters
)

// Header returns the value of a header, or "". It ignores case, in which brokers differ.
func (m Message) Header(name string) string {
	for _, h := range m.Headers {
		if strings.EqualFold(h.Name, name) {
			return h.Value
		}
	}
	return ""
}

// passedOn returns the headers of a message that are not ours.
func (m Message) passedOn() []Header {
	var kept []Header
	for _, h := range m.Headers {
		if len(h.Name) < len(HeaderPrefix) || !strings.EqualFold(h.Name[:len(HeaderPrefix)], HeaderPrefix) {
			kept = append(kept, h)
		}
	}
	return kept
}
