package engine

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// The Redis protocol (RESP 2): a command is an array of texts, a reply is one of
//
//	+OK   -ERR text   :17   $5 and five bytes   *2 and two replies   $-1 or *-1 for nothing
//
// Commands are sent together and their replies read in the same order. Replies are bounded before memory is allocated
// for them, which redigo does not do; go-redis would add 2.2 MB to the command, rueidis 9.8 MB.

// Limits on the reply to one command.
const (
	maxReply       = 1 << 29 // bytes
	maxAnswerDepth = 8
	answerPatience = 2 * time.Minute // without receiving a byte, if the caller sets no limit
	dialPatience   = 10 * time.Second
)

// redisError is an error reply.
type redisError string

func (e redisError) Error() string { return "Redis says: " + string(e) }

// code returns the first word of the error.
func (e redisError) code() string {
	word, _, _ := strings.Cut(string(e), " ")
	return word
}

// redisConn is a connection. After any error other than a redisError it cannot be used any more.
type redisConn struct {
	net.Conn
	in  *bufio.Reader
	out *bufio.Writer
}

// redisAddress is the address of a server and the credentials for it.
type redisAddress struct {
	network, address string
	secure           *tls.Config // nil means unencrypted
	user, password   string
	database         int
}

// dial connects and authenticates.
func (a *redisAddress) dial(ctx context.Context) (*redisConn, error) {
	d := &net.Dialer{Timeout: dialPatience}
	var raw net.Conn
	var err error
	if a.secure != nil {
		raw, err = (&tls.Dialer{NetDialer: d, Config: a.secure}).DialContext(ctx, a.network, a.address)
	} else {
		raw, err = d.DialContext(ctx, a.network, a.address)
	}
	if err != nil {
		return nil, err
	}
	c := &redisConn{raw, bufio.NewReaderSize(raw, 1<<16), bufio.NewWriterSize(raw, 1<<16)}
	var hello [][]string
	switch {
	case a.user != "":
		hello = append(hello, []string{"AUTH", a.user, a.password})
	case a.password != "":
		hello = append(hello, []string{"AUTH", a.password})
	}
	if a.database != 0 {
		hello = append(hello, []string{"SELECT", strconv.Itoa(a.database)})
	}
	answers, err := c.ask(ctx, hello...)
	for _, answer := range answers {
		if refusal, ok := answer.(redisError); ok && err == nil {
			err = refusal
		}
	}
	if err != nil {
		raw.Close()
		return nil, err
	}
	return c, nil
}

// ask sends commands and returns their replies: nil, string, int64, redisError or []any. The error is that of the
// connection.
func (c *redisConn) ask(ctx context.Context, commands ...[]string) ([]any, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { c.SetDeadline(time.Unix(1, 0)) })
	answers, err := c.exchange(ctx, commands)
	if !stop() && err == nil { // the deadline is set, or will be
		err = ctx.Err()
	}
	if ctx.Err() != nil && err != nil {
		err = ctx.Err()
	}
	return answers, err
}

// appendCommand appends a command in wire format.
func appendCommand(dst []byte, words ...string) []byte {
	dst = fmt.Appendf(dst, "*%d\r\n", len(words))
	for _, word := range words {
		dst = fmt.Appendf(dst, "$%d\r\n", len(word))
		dst = append(append(dst, word...), "\r\n"...)
	}
	return dst
}

// exchange is ask without watching the context, which ask does by setting a deadline in the past.
func (c *redisConn) exchange(ctx context.Context, commands [][]string) ([]any, error) {
	c.extend(ctx)
	for _, command := range commands {
		if _, err := c.out.Write(appendCommand(nil, command...)); err != nil {
			return nil, err
		}
	}
	if err := c.out.Flush(); err != nil {
		return nil, err
	}
	answers := make([]any, len(commands))
	for i := range answers {
		c.extend(ctx)
		left := maxReply
		var err error
		if answers[i], err = c.read(&left, 0); err != nil {
			return nil, err
		}
	}
	return answers, nil
}

// extend moves the deadline of the connection, unless the context has ended.
func (c *redisConn) extend(ctx context.Context) {
	if ctx.Err() == nil {
		c.SetDeadline(time.Now().Add(answerPatience))
		if ctx.Err() != nil { // it ended just now, and its deadline may have been overwritten
			c.SetDeadline(time.Unix(1, 0))
		}
	}
}

// errAnswer reports a reply that violates the protocol.
var errAnswer = errors.New("the server does not reply like Redis: is it a Redis server?")

// read reads a reply of at most left bytes.
func (c *redisConn) read(left *int, depth int) (any, error) {
	line, err := c.in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		return nil, errAnswer
	}
	if err != nil {
		return nil, err
	}
	text, whole := strings.CutSuffix(string(line), "\r\n")
	if *left -= len(line); !whole || text == "" || *left < 0 || depth > maxAnswerDepth {
		return nil, errAnswer
	}
	kind, text := text[0], text[1:]
	switch kind {
	case '+':
		return text, nil
	case '-':
		return redisError(text), nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return nil, errAnswer
	}
	switch {
	case kind == ':':
		return n, nil
	case (kind == '$' || kind == '*') && n == -1:
		return nil, nil
	case kind == '$' && n >= 0 && n+2 <= int64(*left):
		*left -= int(n) + 2
		return c.readText(int(n))
	case kind == '*' && n >= 0 && 4*n <= int64(*left):
		list := make([]any, 0, min(n, 1<<12)) // the server may claim more than it sends
		for range n {
			v, err := c.read(left, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	}
	return nil, errAnswer
}

// readText reads a text of n bytes and the line end, allocating memory as bytes arrive.
func (c *redisConn) readText(n int) (any, error) {
	var b strings.Builder
	b.Grow(min(n, 1<<16))
	if _, err := io.CopyN(&b, c.in, int64(n)); err != nil {
		return nil, err
	}
	var end [2]byte
	if _, err := io.ReadFull(c.in, end[:]); err != nil {
		return nil, err
	}
	if string(end[:]) != "\r\n" {
		return nil, errAnswer
	}
	return b.String(), nil
}
