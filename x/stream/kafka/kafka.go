// Package kafka implements a broker for package stream on a Kafka topic read by a consumer group.
//
// The id of a message is its key. Offsets are committed after the codes of all earlier messages are stored by all
// in-sync replicas. Within one run the producer is idempotent: no code is stored twice because a connection broke.
package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"hashgrove/x/stream"
)

// idle is how long Receive waits, and patience how long a broker may take to answer whether it is there.
const (
	idle     = 5 * time.Second
	patience = 5 * time.Second
)

// Options select what to read, and where.
type Options struct {
	Brokers []string  // host:port of some brokers
	Topic   string    // the topic with the vectors
	Group   string    // the consumer group; "hashgrove"
	More    []kgo.Opt // other client options, such as TLS and SASL
}

// Broker is a stream.Broker. It must be closed.
type Broker struct{ client *kgo.Client }

var _ stream.Broker = (*Broker)(nil)

// Open makes a client and checks that the brokers respond. A new group begins at the start of the topic.
func Open(ctx context.Context, o Options) (*Broker, error) {
	if o.Topic == "" {
		return nil, errors.New("the vectors need a topic")
	}
	opts := []kgo.Opt{
		kgo.SeedBrokers(o.Brokers...), kgo.ConsumerGroup(cmp.Or(o.Group, "hashgrove")), kgo.ConsumeTopics(o.Topic),
		kgo.DisableAutoCommit(), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.FetchMaxBytes(16 << 20), kgo.FetchMaxPartitionBytes(2 << 20),
	}
	client, err := kgo.NewClient(append(opts, o.More...)...)
	if err != nil {
		return nil, err
	}
	if err := client.Ping(ctx); err != nil {
		client.Close()
		return nil, fmt.Errorf("asking the brokers %v: %w", o.Brokers, err)
	}
	return &Broker{client}, nil
}

// Close leaves the group.
func (b *Broker) Close() { b.client.Close() }

// Receive returns the available messages, or waits. The client silently retries forever if brokers are away, so Receive
// pings them if nothing comes.
func (b *Broker) Receive(ctx context.Context, n int) ([]stream.Message, error) {
	waiting, cancel := context.WithTimeout(ctx, idle)
	defer cancel()
	fetches := b.client.PollRecords(waiting, n)
	var messages []stream.Message
	for r := range fetches.RecordsAll() {
		m := stream.Message{
			Topic: r.Topic, Key: string(r.Key), Value: r.Value, Receipt: r,
			Source: fmt.Sprintf("%s/%d/%d", r.Topic, r.Partition, r.Offset),
		}
		for _, h := range r.Headers {
			m.Headers = append(m.Headers, stream.Header{Name: h.Key, Value: string(h.Value)})
		}
		messages = append(messages, m)
	}
	for _, e := range fetches.Errors() {
		if !errors.Is(e.Err, waiting.Err()) { // a timeout is not an error
			return messages, fmt.Errorf("reading %s, partition %d: %w", e.Topic, e.Partition, e.Err)
		}
	}
	if len(messages) > 0 {
		return messages, nil
	}
	asking, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return nil, b.client.Ping(asking)
}

// Publish passes all records to the client, which tries in order until the context ends. Brokers refuse whole batches
// of records, so a refused record is sent again alone.
func (b *Broker) Publish(ctx context.Context, messages []stream.Message) []error {
	errs := b.produce(ctx, messages)
	for i, err := range errs {
		if errors.Is(err, stream.ErrRefused) && len(messages) > 1 {
			errs[i] = b.produce(ctx, messages[i:i+1])[0]
		}
	}
	return errs
}

func (b *Broker) produce(ctx context.Context, messages []stream.Message) []error {
	type answer struct {
		i   int
		err error
	}
	answers := make(chan answer, len(messages))
	errs := make([]error, len(messages))
	for i, m := range messages {
		record := &kgo.Record{Topic: m.Topic, Value: m.Value}
		if m.Key != "" {
			record.Key = []byte(m.Key)
		}
		for _, h := range m.Headers {
			record.Headers = append(record.Headers, kgo.RecordHeader{Key: h.Name, Value: []byte(h.Value)})
		}
		errs[i] = context.DeadlineExceeded // until there is an answer
		b.client.Produce(ctx, record, func(_ *kgo.Record, err error) { answers <- answer{i, err} })
	}
	for range messages {
		select {
		case a := <-answers:
			errs[a.i] = classify(a.err)
		case <-ctx.Done():
			return errs
		}
	}
	return errs
}

// classify marks permanent errors.
func classify(err error) error {
	for _, refused := range []error{kerr.MessageTooLarge, kerr.RecordListTooLarge, kerr.InvalidRecord} {
		if errors.Is(err, refused) {
			return fmt.Errorf("%w: %w", stream.ErrRefused, err)
		}
	}
	return err
}

// Done commits the offsets. If the group has given the partition to another member, that one gets the messages again.
func (b *Broker) Done(ctx context.Context, messages []stream.Message) error {
	records := make([]*kgo.Record, len(messages))
	for i, m := range messages {
		records[i] = m.Receipt.(*kgo.Record)
	}
	err := b.client.CommitRecords(ctx, records...)
	for _, moved := range []error{
		kerr.IllegalGeneration, kerr.UnknownMemberID, kerr.FencedMemberEpoch, kerr.StaleMemberEpoch,
	} {
		if errors.Is(err, moved) {
			return nil
		}
	}
	return err
}
