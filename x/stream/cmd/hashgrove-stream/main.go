// Hashgrove-stream encodes the vectors in a NATS stream or a Kafka topic.
package main

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"hashgrove/internal/model"
	"hashgrove/x/stream"
	"hashgrove/x/stream/kafka"
	"hashgrove/x/stream/nats"
)

const usage = `Usage: hashgrove-stream --model FILE (--kafka HOST:PORT | --nats URL)
                        --input NAME --output NAME --dead-letters NAME

Reads vectors from a broker, encodes them and publishes the codes. A message is acknowledged only after its code is
stored. It runs until it gets SIGINT or SIGTERM, and then finishes what it has received.

  hashgrove-stream --model shop.hgm --kafka localhost:9092 --input vectors --output codes --dead-letters vectors-dead
  hashgrove-stream --model shop.hgm --nats nats://localhost:4222 --input VECTORS --output 'codes.*' --dead-letters dead

Secrets come from the environment, HASHGROVE_KAFKA_USERNAME and HASHGROVE_KAFKA_PASSWORD, or with NATS from a file of
credentials.

`

// settings are the flags.
type settings struct {
	model, kafka, nats, input, subject, group string
	mechanism, credentials                    string
	tls                                       bool
	every                                     time.Duration
	o                                         stream.Options
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends it at once
	os.Exit(run(ctx, os.Stderr, os.Args[1:]))
}

// run runs the command. It returns 0 after a signal, 1 for a failure, and 2 for a wrong command line.
func run(ctx context.Context, errOut io.Writer, args []string) int {
	s, err := parse(errOut, args)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err == nil {
		log := slog.New(slog.NewTextHandler(errOut, nil))
		if err = s.serve(ctx, log); err == nil {
			return 0
		}
		fmt.Fprintln(errOut, "hashgrove-stream:", err)
		return 1
	}
	fmt.Fprintf(errOut, "hashgrove-stream: %v\nSee hashgrove-stream --help.\n", err)
	return 2
}

func parse(errOut io.Writer, args []string) (*settings, error) {
	s, f := &settings{}, flag.NewFlagSet("hashgrove-stream", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.StringVar(&s.model, "model", "", "the model `file`")
	f.StringVar(&s.kafka, "kafka", "", "brokers of Kafka, as `host:port,host:port`")
	f.StringVar(&s.nats, "nats", "", "`URL` of a server of NATS with JetStream")
	f.StringVar(&s.input, "input", "", "the topic (Kafka) or stream (NATS) with the vectors")
	f.StringVar(&s.subject, "subject", "", "the subjects of the stream to read (NATS); all")
	f.StringVar(&s.group, "group", "hashgrove", "the consumer group (Kafka) or durable consumer (NATS)")
	f.StringVar(&s.o.Output, "output", "", "the topic or subject of the codes; with NATS the id takes the place of a *")
	f.StringVar(&s.o.DeadLetters, "dead-letters", "", "the topic or subject of messages that cannot be encoded")
	f.StringVar((*string)(&s.o.From), "from", "json", "messages with vectors: json, or raw float32")
	f.StringVar((*string)(&s.o.To), "to", "json", "messages with codes: json or packed")
	f.IntVar(&s.o.Batch, "batch", 256, "messages that are encoded together at most")
	f.IntVar(&s.o.InFlight, "in-flight", 4, "batches on their way at most")
	f.IntVar(&s.o.MaxMessage, "max-message", 1<<20, "`bytes` of a message at most")
	f.IntVar(&s.o.Threads, "threads", 0, "threads that encode; 0 means all cores")
	f.DurationVar(&s.o.Patience, "patience", 2*time.Minute, "how long a broker that fails is tried again")
	f.DurationVar(&s.o.Grace, "grace", 10*time.Second, "how long to go on with what was received after a signal")
	f.DurationVar(&s.every, "log-every", 10*time.Second, "how often to log what was done")
	f.BoolVar(&s.tls, "tls", false, "connect to Kafka with TLS (NATS: write tls:// in the URL)")
	f.StringVar(&s.mechanism, "sasl", "", "how to log in to Kafka: plain, scram-sha-256 or scram-sha-512")
	f.StringVar(&s.credentials, "credentials", "", "a `file` of credentials for NATS")
	err := f.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(errOut, usage)
		f.SetOutput(errOut)
		f.PrintDefaults()
		return s, err
	case err != nil:
		return s, err
	case f.NArg() > 0:
		return s, fmt.Errorf("unexpected argument %q", f.Arg(0))
	case s.model == "" || s.input == "" || s.o.Output == "" || s.o.DeadLetters == "":
		return s, errors.New("--model, --input, --output and --dead-letters are required")
	case (s.kafka == "") == (s.nats == ""):
		return s, errors.New("give either --kafka or --nats")
	}
	return s, nil
}

// serve runs the processor.
func (s *settings) serve(ctx context.Context, log *slog.Logger) error {
	m, err := model.ReadFile(s.model)
	if err != nil {
		return err
	}
	b, end, err := s.open(ctx)
	if err != nil {
		return err
	}
	defer end()
	log.Info("encoding", "input", s.input, "output", s.o.Output, "model", m.Fingerprint().String())
	var encoded, dead, told int
	var last time.Time
	s.o.Observe = func(e stream.Event) {
		if e.Err != nil {
			log.Warn("trying again", "error", e.Err)
			return
		}
		encoded, dead = encoded+e.Encoded, dead+e.Dead
		if time.Since(last) >= s.every {
			log.Info("progress", "encoded", encoded, "dead", dead, "since", encoded+dead-told)
			told, last = encoded+dead, time.Now()
		}
	}
	err = stream.Run(ctx, b, m, s.o)
	log.Info("stopped", "encoded", encoded, "dead", dead)
	return err
}

func (s *settings) open(ctx context.Context) (stream.Broker, func(), error) {
	if s.nats != "" {
		return s.openNATS(ctx)
	}
	more, err := s.security()
	if err != nil {
		return nil, nil, err
	}
	b, err := kafka.Open(ctx, kafka.Options{
		Brokers: strings.Split(s.kafka, ","), Topic: s.input, Group: s.group, More: more,
	})
	if err != nil {
		return nil, nil, err
	}
	return b, b.Close, nil
}

func (s *settings) openNATS(ctx context.Context) (stream.Broker, func(), error) {
	opts := []natsgo.Option{natsgo.Name("hashgrove-stream"), natsgo.MaxReconnects(-1)}
	if s.credentials != "" {
		opts = append(opts, natsgo.UserCredentials(s.credentials))
	}
	conn, err := natsgo.Connect(s.nats, opts...)
	if err != nil {
		return nil, nil, fmt.Errorf("connecting to NATS: %w", err)
	}
	b, err := nats.Open(ctx, conn, nats.Options{Stream: s.input, Subject: s.subject, Consumer: s.group})
	if err != nil {
		conn.Close()
		return nil, nil, err
	}
	return b, conn.Close, nil
}

// security returns the options for TLS and the login to Kafka.
func (s *settings) security() ([]kgo.Opt, error) {
	var opts []kgo.Opt
	if s.tls {
		opts = append(opts, kgo.DialTLSConfig(&tls.Config{MinVersion: tls.VersionTLS12}))
	}
	user, password := os.Getenv("HASHGROVE_KAFKA_USERNAME"), os.Getenv("HASHGROVE_KAFKA_PASSWORD")
	if s.mechanism != "" && (user == "" || password == "") {
		return nil, errors.New("HASHGROVE_KAFKA_USERNAME and HASHGROVE_KAFKA_PASSWORD must be in the environment for --sasl")
	}
	switch s.mechanism {
	case "":
	case "plain":
		opts = append(opts, kgo.SASL(plain.Auth{User: user, Pass: password}.AsMechanism()))
	case "scram-sha-256":
		opts = append(opts, kgo.SASL(scram.Auth{User: user, Pass: password}.AsSha256Mechanism()))
	case "scram-sha-512":
		opts = append(opts, kgo.SASL(scram.Auth{User: user, Pass: password}.AsSha512Mechanism()))
	default:
		return nil, fmt.Errorf("unknown --sasl %q: choose plain, scram-sha-256 or scram-sha-512", s.mechanism)
	}
	return opts, nil
}
