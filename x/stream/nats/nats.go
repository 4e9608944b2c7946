// Package nats implements a broker for package stream on a NATS JetStream stream read by a durable consumer.
//
// NATS has no keys. The id of a message is in the header hashgrove-id, percent-encoded, and replaces a star in the
// subject: with the output codes.* each id has its own subject, so that a stream with one message per subject keeps the
// newest code of each. A message published again within the stream's duplicate window has the same Nats-Msg-Id, and the
// server drops it.
package nats

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"hashgrove/internal/fault"
	"hashgrove/x/stream"
)

// HeaderID is the header with the id of an item, percent-encoded.
const HeaderID = stream.HeaderPrefix + "id"

// idle is how long Receive waits, ackTimeout how long a server may take to store a message, and longest the maximum
// length of a subject: the server closes the connection if a protocol line is much longer.
const (
	idle       = 5 * time.Second
	ackTimeout = 5 * time.Second
	longest    = 1000
)

// Options select what to read.
type Options struct {
	Stream   string        // the stream with the vectors
	Subject  string        // which of its subjects to read, such as vectors.>; all
	Consumer string        // the durable consumer, created if it does not exist; "hashgrove"
	AckWait  time.Duration // for a new consumer: when to redeliver a message that is not done; 1 minute
}

// Broker is a stream.Broker.
type Broker struct {
	conn     *natsgo.Conn
	js       jetstream.JetStream
	consumer jetstream.Consumer
}

var _ stream.Broker = (*Broker)(nil)

// Open finds or creates the consumer. The caller keeps the connection, which should reconnect forever
// (nats.MaxReconnects(-1)).
func Open(ctx context.Context, conn *natsgo.Conn, o Options) (*Broker, error) {
	js, err := jetstream.New(conn, jetstream.WithPublishAsyncTimeout(ackTimeout),
		jetstream.WithPublishAsyncMaxPending(1<<20)) // the processor has its own limit
	if err != nil {
		return nil, err
	}
	name := cmp.Or(o.Consumer, "hashgrove")
	consumer, err := js.Consumer(ctx, o.Stream, name)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		consumer, err = js.CreateConsumer(ctx, o.Stream, jetstream.ConsumerConfig{
			Durable: name, FilterSubject: o.Subject, AckPolicy: jetstream.AckExplicitPolicy,
			AckWait: cmp.Or(o.AckWait, time.Minute), MaxAckPending: 10_000, MaxDeliver: -1,
		})
	}
	if err != nil {
		return nil, fmt.Errorf("opening the consumer %s of the stream %s: %w", name, o.Stream, err)
	}
	have := consumer.CachedInfo().Config
	switch {
	case have.AckPolicy != jetstream.AckExplicitPolicy:
		return nil, fault.New("no-acknowledgement",
			"the consumer %s does not acknowledge each message; make one with the policy explicit", name)
	case have.MaxDeliver > 0:
		return nil, fault.New("limited-delivery",
			"the consumer %s delivers a message %d times and then never again; set its limit to -1",
			name, have.MaxDeliver)
	case o.Subject != "" && have.FilterSubject != o.Subject:
		return nil, fault.New("other-subject", "the consumer %s reads %q, not %q; choose another name",
			name, have.FilterSubject, o.Subject)
	}
	return &Broker{conn: conn, js: js, consumer: consumer}, nil
}

// Receive returns the available messages, or waits for one.
func (b *Broker) Receive(ctx context.Context, n int) ([]stream.Message, error) {
	got, err := b.consumer.FetchNoWait(n)
	if err != nil {
		return nil, err
	}
	messages, err := collect(got)
	if len(messages) > 0 || err != nil || ctx.Err() != nil {
		return messages, err
	}
	ctx, cancel := context.WithTimeout(ctx, idle)
	defer cancel()
	if got, err = b.consumer.Fetch(1, jetstream.FetchContext(ctx)); err != nil {
		return nil, err
	}
	messages, err = collect(got)
	if errors.Is(err, context.DeadlineExceeded) {
		err = nil
	}
	if len(messages) == 0 && err == nil && !b.conn.IsConnected() {
		err = natsgo.ErrDisconnected
	}
	return messages, err
}

func collect(batch jetstream.MessageBatch) ([]stream.Message, error) {
	var messages []stream.Message
	for m := range batch.Messages() {
		at, err := m.Metadata()
		if err != nil {
			return messages, err
		}
		got := stream.Message{
			Topic: m.Subject(), Value: m.Data(), Receipt: m,
			// The timestamp distinguishes a recreated stream from the previous one.
			Source: fmt.Sprintf("%s/%d/%d", at.Stream, at.Sequence.Stream, at.Timestamp.UnixNano()),
		}
		for _, name := range slices.Sorted(maps.Keys(m.Headers())) {
			for _, value := range m.Headers()[name] {
				if strings.EqualFold(name, HeaderID) {
					got.Key = unescape(value)
				} else if !strings.HasPrefix(strings.ToLower(name), "nats-") {
					got.Headers = append(got.Headers, stream.Header{Name: name, Value: value})
				}
			}
		}
		messages = append(messages, got)
	}
	return messages, batch.Error()
}

// Publish sends all messages and waits for the acknowledgement of each.
func (b *Broker) Publish(ctx context.Context, messages []stream.Message) []error {
	errs, futures := make([]error, len(messages)), make([]jetstream.PubAckFuture, len(messages))
	for i, m := range messages {
		subject := subjectOf(m)
		if len(subject) > longest {
			errs[i] = fmt.Errorf("%w: its subject would have %d bytes", stream.ErrRefused, len(subject))
			continue
		}
		out := &natsgo.Msg{Subject: subject, Data: m.Value, Header: natsgo.Header{}}
		for _, h := range m.Headers {
			out.Header.Add(h.Name, h.Value)
		}
		if m.Key != "" {
			out.Header.Set(HeaderID, url.PathEscape(m.Key))
		}
		out.Header.Set(jetstream.MsgIDHeader, m.Unique)
		futures[i], errs[i] = b.js.PublishMsgAsync(out)
		errs[i] = classify(errs[i])
	}
	for i, future := range futures {
		if future == nil {
			continue
		}
		select {
		case <-future.Ok():
		case err := <-future.Err():
			errs[i] = classify(err)
		case <-ctx.Done():
			errs[i] = context.Cause(ctx)
		}
	}
	return errs
}

// classify marks permanent errors.
func classify(err error) error {
	const headerTooLarge = 10097
	var api *jetstream.APIError
	if errors.Is(err, natsgo.ErrMaxPayload) || errors.Is(err, natsgo.ErrBadSubject) || errors.As(err, &api) &&
		(api.ErrorCode == jetstream.JSErrCodeStreamMessageExceedsMaximum || api.ErrorCode == headerTooLarge) {
		return fmt.Errorf("%w: %w", stream.ErrRefused, err)
	}
	return err
}

// Done acknowledges the messages and waits until the server confirms it.
func (b *Broker) Done(ctx context.Context, messages []stream.Message) error {
	for _, m := range messages {
		err := m.Receipt.(jetstream.Msg).Ack()
		if err != nil && !errors.Is(err, jetstream.ErrMsgAlreadyAckd) {
			return err
		}
	}
	return b.conn.FlushWithContext(ctx)
}

// subjectOf returns the topic with the id in place of a star.
func subjectOf(m stream.Message) string {
	return strings.Replace(m.Topic, "*", Token(m.Key), 1)
}

// Token returns an id as part of a subject: percent-encoded, including dots.
func Token(id string) string {
	return cmp.Or(strings.ReplaceAll(url.PathEscape(id), ".", "%2E"), "_")
}

// unescape decodes percent-encoding, or returns the text unchanged if it is not encoded.
func unescape(s string) string {
	if id, err := url.PathUnescape(s); err == nil {
		return id
	}
	return s
}
