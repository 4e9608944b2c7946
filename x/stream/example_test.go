package stream_test

import (
	"context"
	"fmt"
	"log"

	natsgo "github.com/nats-io/nats.go"

	"hashgrove/internal/model"
	"hashgrove/x/stream"
	"hashgrove/x/stream/kafka"
	"hashgrove/x/stream/nats"
)

// Codes of the vectors in a topic of Kafka go to another topic.
func Example() {
	m, err := model.ReadFile("shop.hgm")
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	b, err := kafka.Open(ctx, kafka.Options{Brokers: []string{"localhost:9092"}, Topic: "vectors", Group: "shop"})
	if err != nil {
		log.Fatal(err)
	}
	defer b.Close()
	err = stream.Run(ctx, b, m, stream.Options{
		Output: "codes", DeadLetters: "vectors-dead",
		Observe: func(e stream.Event) { fmt.Println(e.Encoded, "codes in", e.Encoding+e.Publishing, e.Err) },
	})
	if err != nil {
		log.Fatal(err)
	}
}

// With NATS each id can have a subject of its own.
func Example_nats() {
	m, err := model.ReadFile("shop.hgm")
	if err != nil {
		log.Fatal(err)
	}
	conn, err := natsgo.Connect("nats://localhost:4222", natsgo.MaxReconnects(-1))
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	ctx := context.Background()
	b, err := nats.Open(ctx, conn, nats.Options{Stream: "VECTORS"})
	if err != nil {
		log.Fatal(err)
	}
	if err := stream.Run(ctx, b, m, stream.Options{Output: "codes.*", DeadLetters: "dead"}); err != nil {
		log.Fatal(err)
	}
}
