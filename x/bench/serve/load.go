package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The load generator is a closed loop: each connection sends a request, reads the whole answer and sends the next. It
// speaks HTTP/1.1 and RESP over plain sockets and does so little work that it leaves the shared cores to the server.

// load describes what to send, and for how long.
type load struct {
	address     string
	connections int
	duration    time.Duration
	requests    [][]byte                     // sent in turn; connections start at different ones
	read        func(in *bufio.Reader) error // reads one answer
}

// figures are the measurements of a load.
type figures struct {
	requests int
	took     time.Duration
	p50, p99 time.Duration
	cpu      time.Duration // of the server, in all
}

func (f figures) perSecond() float64 { return float64(f.requests) / f.took.Seconds() }

// run sends the load, again and for longer if nothing was answered. The first tenth of the time is not counted.
func (l load) run(server *process) (figures, error) {
	var wg sync.WaitGroup
	times := make([][]time.Duration, l.connections)
	errs := make([]error, l.connections)
	began := time.Now()
	from, until := began.Add(l.duration/10), began.Add(l.duration)
	for c := range l.connections {
		wg.Go(func() { times[c], errs[c] = l.loop(c, from, until) })
	}
	time.Sleep(time.Until(from))
	before := server.cpu()
	time.Sleep(time.Until(until))
	after := server.cpu()
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return figures{}, err
	}
	all := slices.Concat(times...)
	if len(all) == 0 {
		if l.duration > 10*time.Minute {
			return figures{}, errors.New("no request was answered in time")
		}
		l.duration *= 4 // the machine is busy
		return l.run(server)
	}
	slices.Sort(all)
	return figures{
		requests: len(all), took: until.Sub(from), p50: all[len(all)/2], p99: all[len(all)*99/100], cpu: after - before,
	}, nil
}

// loop runs one connection and returns the times of the requests sent after from and answered before until.
func (l load) loop(c int, from, until time.Time) ([]time.Duration, error) {
	conn, err := net.Dial("tcp", l.address)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	in := bufio.NewReaderSize(conn, 64<<10)
	var times []time.Duration
	for i := c * len(l.requests) / l.connections; ; i++ {
		began := time.Now()
		if _, err := conn.Write(l.requests[i%len(l.requests)]); err != nil {
			return nil, err
		}
		if err := l.read(in); err != nil {
			return nil, err
		}
		ended := time.Now()
		if ended.After(until) {
			return times, nil
		}
		if began.After(from) {
			times = append(times, ended.Sub(began))
		}
	}
}

// httpRequest returns the bytes of a request.
func httpRequest(method, path, host, kind string, body []byte) []byte {
	return append(fmt.Appendf(nil, "%s %s HTTP/1.1\r\nHost: %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n",
		method, path, host, kind, len(body)), body...)
}

// readHTTP reads an answer, which must be successful.
func readHTTP(in *bufio.Reader) error {
	line, err := in.ReadSlice('\n')
	if err != nil {
		return err
	}
	status := string(line)
	length, chunked := -1, false
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return err
		}
		text := strings.TrimSpace(string(line))
		if text == "" {
			break
		}
		name, value, _ := strings.Cut(text, ":")
		switch {
		case strings.EqualFold(name, "Content-Length"):
			if length, err = strconv.Atoi(strings.TrimSpace(value)); err != nil {
				return err
			}
		case strings.EqualFold(name, "Transfer-Encoding"):
			chunked = true
		}
	}
	var text []byte
	if chunked {
		err = skipChunks(in)
	} else if length >= 0 {
		if !strings.Contains(status, " 20") {
			text, _ = in.Peek(min(length, 400))
		}
		_, err = in.Discard(length)
	} else {
		return errors.New("an answer without a length")
	}
	if !strings.Contains(status, " 20") {
		return fmt.Errorf("%s %s", strings.TrimSpace(status), text)
	}
	return err
}

func skipChunks(in *bufio.Reader) error {
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return err
		}
		n, err := strconv.ParseInt(strings.TrimSpace(line), 16, 32)
		if err != nil {
			return err
		}
		if _, err := io.CopyN(io.Discard, in, n+2); err != nil {
			return err
		}
		if n == 0 {
			return nil
		}
	}
}

// readPong reads the answer of Redis to PING.
func readPong(in *bufio.Reader) error {
	line, err := in.ReadSlice('\n')
	if err == nil && string(line) != "+PONG\r\n" {
		err = fmt.Errorf("the answer to PING is %q", line)
	}
	return err
}
