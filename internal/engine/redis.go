package engine

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"

	"hashgrove/internal/fault"
	"hashgrove/internal/hamming"
)

// Redis 8 or later, whose vector sets store codes as one bit per dimension (BIN): +1 for a set bit and -1 for a clear
// one; those with detail are spread (shape.go). The score of an element is 1 - distance/bits. With TRUTH a search
// compares all elements and is exact; without it a search walks a graph, which is faster but misses some.
//
//	items          the vector set: elements are ids, with attributes to filter by (redis_filter.go)
//	items:details  a hash: every item in full, by id, and under "" which model made the codes
//
// A batch is one script, which Redis runs as a whole and replays after a crash as a whole or not at all.

// redis is the engine for Redis.
type redis struct {
	redisAddress
	table string
	graph bool // use the graph for searches

	slots chan struct{}   // of connections
	idle  chan *redisConn // that are open
	meta  string          // the table's note, once known
	shape
}

// redisMeta is the note that a table keeps about itself.
type redisMeta struct {
	Bits        int    `json:"bits"`
	Fingerprint string `json:"fingerprint"`
	Identity    string `json:"identity"`
}

// leastRedis is the first version that has vector sets.
const leastRedis = 8

// idName is the name of the id in filters.
const idName = "id"

func openRedis(t Target) (Engine, error) {
	u, err := url.Parse(t.URL)
	if err != nil {
		return nil, errors.New("the URL of the engine cannot be read")
	}
	n := max(t.InFlight, 1)
	r := &redis{table: t.Table, slots: make(chan struct{}, n), idle: make(chan *redisConn, n)}
	if len(t.Table) > 1000 || strings.HasSuffix(t.Table, ":details") {
		return nil, fmt.Errorf("a table cannot be called %q", t.Table)
	}
	r.user, r.password = u.User.Username(), cmp.Or(t.Password, os.Getenv("REDISCLI_AUTH"))
	database, ca := strings.Trim(u.Path, "/"), ""
	if r.network, r.address = "tcp", u.Host; u.Scheme == "redis+unix" {
		r.network, r.address, database = "unix", u.Path, ""
	} else if u.Port() == "" {
		r.address = net.JoinHostPort(cmp.Or(u.Hostname(), "localhost"), "6379")
	}
	for name, values := range u.Query() {
		switch value := values[0]; {
		case name == "db" && u.Scheme == "redis+unix":
			database = value
		case name == "cacert" && u.Scheme == "rediss":
			ca = value
		case name == "search" && (value == "graph" || value == "all"):
			r.graph = value == "graph"
		default:
			return nil, fmt.Errorf("the URL of Redis says %s=%s: it may say search=graph or search=all, "+
				"cacert=FILE with rediss, and db=NUMBER with redis+unix", name, value)
		}
	}
	if r.database, err = strconv.Atoi(cmp.Or(database, "0")); err != nil || r.database < 0 || r.address == "" {
		return nil, errors.New("the URL of the engine cannot be used: write it as redis://user@host:port/0, " +
			"or redis+unix:///path/of/the/socket")
	}
	if u.Scheme == "rediss" {
		if r.secure, err = redisTLS(u.Hostname(), ca); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// redisTLS trusts the certificates in a file, or else the system's.
func redisTLS(host, ca string) (*tls.Config, error) {
	config := &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}
	if ca != "" {
		text, err := os.ReadFile(ca)
		if err != nil {
			return nil, err
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s: the file has no certificate", ca)
		}
	}
	return config, nil
}

// details returns the key of the hash beside the vector set.
func (r *redis) details() string { return r.table + ":details" }

// Close implements Engine.
func (r *redis) Close() error {
	r.dropIdle()
	return nil
}

func (r *redis) dropIdle() {
	for {
		select {
		case c := <-r.idle:
			c.Close()
		default:
			return
		}
	}
}

// ask sends commands over a connection of its own and returns the replies; an error reply becomes the error. A
// pooled connection may have ended unnoticed: then ask tries a new one, since everything it sends may be repeated.
func (r *redis) ask(ctx context.Context, commands ...[]string) ([]any, error) {
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	var answers []any
	var err error
	var c *redisConn
	select {
	case c = <-r.idle:
		answers, err = c.ask(ctx, commands...)
	default:
	}
	if c == nil || err != nil && ctx.Err() == nil && isBroken(err) {
		if c != nil {
			c.Close()
			r.dropIdle()
		}
		if c, err = r.dial(ctx); err != nil {
			return nil, r.failure(ctx, err)
		}
		answers, err = c.ask(ctx, commands...)
	}
	if err != nil {
		c.Close()
		return nil, r.failure(ctx, err)
	}
	r.idle <- c // never blocks: the buffer has one place per slot
	for _, answer := range answers {
		if refusal, ok := answer.(redisError); ok {
			return nil, r.failure(ctx, refusal)
		}
	}
	return answers, nil
}

// failure maps an error of the server or the connection to ours.
func (r *redis) failure(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	refusal, ok := errors.AsType[redisError](err)
	switch {
	case !ok && isBroken(err):
		return fmt.Errorf("%w: %w", ErrTemporary, err)
	case !ok:
		return err
	}
	switch refusal.code() {
	case "LOADING", "BUSY", "MASTERDOWN", "TRYAGAIN", "CLUSTERDOWN", "READONLY", "NOREPLICAS":
		return fmt.Errorf("%w: %w", ErrTemporary, err)
	case "NOTABLE":
		return fmt.Errorf("%w: %s was dropped or recreated meanwhile", ErrNoTable, r.table)
	case "WRONGTYPE":
		return fault.New("foreign-table", "the keys %s and %s were not made by Hashgrove: name another table",
			r.table, r.details())
	}
	return err
}

// Info implements Engine.
func (r *redis) Info(ctx context.Context) (Info, error) {
	info := Info{Table: r.table, Exact: !r.graph}
	answers, err := r.ask(ctx, []string{"INFO", "server"})
	if err != nil {
		return Info{}, err
	}
	text, _ := answers[0].(string)
	_, version, _ := strings.Cut(text, "redis_version:")
	version, _, _ = strings.Cut(version, "\r\n")
	major, _, _ := strings.Cut(version, ".")
	if n, err := strconv.Atoi(major); err != nil || n < leastRedis {
		return Info{}, fmt.Errorf("the server is Redis %s, which has no vector sets: version %d or later is needed",
			version, leastRedis)
	}
	info.Engine = "Redis " + version
	answers, err = r.ask(ctx, []string{"MULTI"}, []string{"HGET", r.details(), ""}, []string{"HLEN", r.details()},
		[]string{"VCARD", r.table}, []string{"VINFO", r.table}, []string{"EXEC"})
	if err != nil {
		return Info{}, err
	}
	state, _ := answers[len(answers)-1].([]any)
	if len(state) != 4 {
		return Info{}, errAnswer
	}
	for _, v := range state {
		if refusal, ok := v.(redisError); ok {
			return Info{}, r.failure(ctx, refusal)
		}
	}
	return r.read(info, state)
}

// read interprets what the keys hold: our note, the lengths of both, and the type of the vector set.
func (r *redis) read(info Info, state []any) (Info, error) {
	note, _ := state[0].(string)
	items, _ := state[1].(int64)
	elements, _ := state[2].(int64)
	var m redisMeta
	if note == "" {
		if items > 0 || elements > 0 {
			return Info{}, fault.New("foreign-table", "the keys %s and %s were not made by Hashgrove: name another table",
				r.table, r.details())
		}
		return Info{}, fmt.Errorf("%w: %s", ErrNoTable, r.table)
	}
	err := json.Unmarshal([]byte(note), &m)
	if err == nil {
		info.Fingerprint, err = hamming.ParseFingerprint(m.Fingerprint)
	}
	if err != nil || m.Bits < 1 || m.Bits > hamming.MaxBits || m.Identity == "" {
		return Info{}, fault.New("damaged-table", "the field \"\" of %s is damaged: it should record the model of the codes",
			r.details())
	}
	if elements != items-1 {
		return Info{}, fault.New("count-mismatch", "%s has %d elements, but %s describes %d: "+
			"was one of them changed or removed? Remove both, and push again", r.table, elements, r.details(), items-1)
	}
	info.Bits, info.Identity = m.Bits, m.Identity
	of := info.shape()
	list, _ := state[3].([]any)
	for i := 0; i+1 < len(list); i += 2 {
		if list[i] == "quant-type" && list[i+1] != "bin" || list[i] == "vector-dim" && list[i+1] != int64(of.wide()) {
			return Info{}, fmt.Errorf("the %v of %s is %v, which does not fit codes of %d bits: was it changed?",
				list[i], r.table, list[i+1], m.Bits)
		}
	}
	r.shape, r.meta = of, note
	return info, nil
}

// noteScript records the model of a table unless there is a record.
const noteScript = `if redis.call('EXISTS', KEYS[1], KEYS[2]) == 0 then redis.call('HSET', KEYS[2], '', ARGV[1]) end`

// redisNote returns the note of a new table.
func redisNote(s Space, identity string) string {
	b, _ := json.Marshal(redisMeta{s.Bits, s.Fingerprint.Full(), identity}) // numbers and digits
	return string(b)
}

// Prepare implements Engine.
func (r *redis) Prepare(ctx context.Context, s Space) (Info, error) {
	info, err := r.Info(ctx)
	if errors.Is(err, ErrNoTable) {
		var identity [16]byte
		rand.Read(identity[:])
		_, err = r.ask(ctx, []string{"EVAL", noteScript, "2", r.table, r.details(),
			redisNote(s, hex.EncodeToString(identity[:]))})
		if err == nil {
			info, err = r.Info(ctx)
		}
	}
	if err != nil {
		return Info{}, err
	}
	return info, info.Accept(s)
}
