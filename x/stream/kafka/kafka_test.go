package kafka_test

import (
	"context"
	"errors"
	"net"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"hashgrove/x/stream"
	"hashgrove/x/stream/internal/conformance"
	"hashgrove/x/stream/kafka"
)

func TestMain(m *testing.M) {
	conformance.Child(dial)
	os.Exit(m.Run())
}

func TestConformance(t *testing.T) { conformance.Run(t, start, dial) }

// dial has a short session: the partitions of a process that was killed are free after it.
func dial(ctx context.Context, address string) (stream.Broker, func(), error) {
	b, err := kafka.Open(ctx, kafka.Options{
		Brokers: []string{address}, Topic: conformance.Vectors, Group: "test",
		More: []kgo.Opt{
			kgo.SessionTimeout(time.Second), kgo.HeartbeatInterval(100 * time.Millisecond), kgo.RebalanceTimeout(2 * time.Second),
			kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.RetryBackoffFn(func(int) time.Duration { return 20 * time.Millisecond }),
			kgo.FetchMaxWait(100 * time.Millisecond), kgo.MetadataMinAge(20 * time.Millisecond),
		},
	})
	if err != nil {
		return nil, nil, err
	}
	return b, b.Close, nil
}

// local is a cluster of one broker in this process with its files in a folder.
type local struct {
	cluster *kfake.Cluster
	dir     string
	port    int
}

func start(t *testing.T) conformance.Server {
	l := &local{dir: t.TempDir()}
	l.run(t, kfake.SeedTopics(3, conformance.Vectors, conformance.Codes, conformance.Dead))
	_, port, err := net.SplitHostPort(l.Address())
	if err != nil {
		t.Fatal(err)
	}
	if l.port, err = strconv.Atoi(port); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.cluster.Close() })
	l.limit(t, conformance.Codes)
	l.limit(t, conformance.Dead)
	return l
}

// limit has the broker refuse what is too large, and all records that come with it.
func (l *local) limit(t *testing.T, topic string) {
	t.Helper()
	c := l.client(t)
	defer c.Close()
	request := kmsg.NewPtrIncrementalAlterConfigsRequest()
	resource := kmsg.NewIncrementalAlterConfigsRequestResource()
	config := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
	config.Name, config.Value = "max.message.bytes", kmsg.StringPtr(strconv.Itoa(conformance.MaxBytes))
	resource.ResourceType, resource.ResourceName = kmsg.ConfigResourceTypeTopic, topic
	resource.Configs = append(resource.Configs, config)
	request.Resources = append(request.Resources, resource)
	answer, err := request.RequestWith(t.Context(), c)
	if err != nil || answer.Resources[0].ErrorCode != 0 {
		t.Fatal(err, answer)
	}
}

func (l *local) run(t *testing.T, more ...kfake.Opt) {
	t.Helper()
	opts := append(more, kfake.NumBrokers(1), kfake.DataDir(l.dir), kfake.GroupMinSessionTimeout(100*time.Millisecond))
	if l.port > 0 {
		opts = append(opts, kfake.Ports(l.port))
	}
	var err error
	if l.cluster, err = kfake.NewCluster(opts...); err != nil {
		t.Fatal(err)
	}
}

func (l *local) Address() string { return l.cluster.ListenAddrs()[0] }

func (l *local) Restart(t *testing.T, away func()) {
	t.Helper()
	l.cluster.Close()
	away()
	l.run(t)
}

func (l *local) client(t *testing.T, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	c, err := kgo.NewClient(append(opts, kgo.SeedBrokers(l.Address()))...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (l *local) Send(t *testing.T, messages []stream.Message) {
	t.Helper()
	c := l.client(t)
	defer c.Close()
	var records []*kgo.Record
	for _, m := range messages {
		r := &kgo.Record{Topic: conformance.Vectors, Value: m.Value}
		if m.Key != "" {
			r.Key = []byte(m.Key)
		}
		for _, h := range m.Headers {
			r.Headers = append(r.Headers, kgo.RecordHeader{Key: h.Name, Value: []byte(h.Value)})
		}
		records = append(records, r)
	}
	if err := c.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

func (l *local) Count(t *testing.T, topic string) int {
	t.Helper()
	n := int64(0)
	for p := range int32(3) {
		info := l.cluster.PartitionInfo(topic, p)
		if info == nil {
			t.Fatalf("%s has no partition %d", topic, p)
		}
		n += info.HighWatermark
	}
	return int(n)
}

// Read reads every partition from its start to the end that it has now.
func (l *local) Read(t *testing.T, topic string) []stream.Message {
	t.Helper()
	left, partitions := l.Count(t, topic), map[int32]kgo.Offset{}
	for p := range int32(3) {
		partitions[p] = kgo.NewOffset().AtStart()
	}
	c := l.client(t, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: partitions}),
		kgo.FetchMaxWait(50*time.Millisecond))
	defer c.Close()
	var messages []stream.Message
	for left > 0 {
		ctx, cancel := context.WithTimeout(t.Context(), conformance.Patience)
		fetches := c.PollFetches(ctx)
		cancel()
		if err := fetches.Err(); err != nil && !errors.Is(err, context.DeadlineExceeded) || ctx.Err() == context.DeadlineExceeded {
			t.Fatal(err)
		}
		for r := range fetches.RecordsAll() {
			m := stream.Message{Topic: topic, Key: string(r.Key), Value: r.Value}
			for _, h := range r.Headers {
				m.Headers = append(m.Headers, stream.Header{Name: h.Key, Value: string(h.Value)})
			}
			messages = append(messages, m)
			left--
		}
	}
	return slices.Clip(messages)
}
