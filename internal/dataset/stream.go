package dataset

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"slices"

	"hashgrove/internal/message"
)

// Standard is the path that stands for standard input, Spec.Stdin.
const Standard = "-"

// streamed lists the formats that can be read sequentially in one pass.
var streamed = []string{
	"npy", "idx", "cifar10", "cifar100", "fvecs", "bvecs", "ivecs", "jsonl", "tsv", "csv",
}

// headless lists the formats that begin with the first row, so there may be nothing at all.
var headless = []string{"fvecs", "bvecs", "ivecs", "jsonl"}

// stream is data that can be read only once: standard input or a pipe. Opening examines the beginning several times, so
// what is read before the pass over the rows begins is kept in memory.
type stream struct {
	path  string
	in    io.Reader
	close func() error
	kept  []byte // from the start
	open  bool   // the beginning is kept
}

// IsStream reports whether a path is standard input, a pipe or the like, whose data can be read only once.
func IsStream(path string) bool {
	if path == Standard {
		return true
	}
	info, err := os.Stat(path)
	return err == nil && !info.IsDir() && !info.Mode().IsRegular()
}

// openStreams opens the paths that can be read only once.
func (spec *Spec) openStreams(paths []string) error {
	for _, path := range paths {
		if !IsStream(path) {
			continue
		}
		if !spec.Once {
			return message.New("read-once",
				"%s: is not a file: it can be read only once, and the data are needed more than once here: "+
					"save them to a file first", path)
		}
		s := &stream{path: path, in: spec.Stdin, close: func() error { return nil }, open: true}
		if path != Standard {
			f, err := message.Open(path)
			if err != nil {
				return err
			}
			s.in, s.close = f, f.Close
		} else if s.in == nil {
			return message.New("no-standard-input", "%s: there is no standard input here", path)
		}
		if spec.streams == nil {
			spec.streams = map[string]*stream{}
		}
		spec.streams[path] = s
	}
	return nil
}

// openInput opens one of the files for reading from the start.
func (spec *Spec) openInput(path string) (*input, error) {
	if s := spec.streams[path]; s != nil {
		return s.input()
	}
	return openInput(path)
}

// input returns the content from the start.
func (s *stream) input() (*input, error) {
	if !s.open {
		return nil, message.New("read-once", "%s: can be read only once, and is needed again: save it to a file first",
			s.path)
	}
	in := &input{path: s.path, size: -1, stream: s}
	r := &streamReader{stream: s}
	var head [4]byte
	n, err := io.ReadFull(r, head[:])
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return nil, err
	}
	r.at = 0
	if err := in.unpack(r, head[:n]); err != nil {
		in.Close()
		return nil, err
	}
	return in, nil
}

// startPass ends the examination: from now on nothing is kept.
func (s *stream) startPass() { s.open = false }

// streamReader reads a stream from the start, beginning with what was kept.
type streamReader struct {
	*stream
	at int
}

func (r *streamReader) Read(p []byte) (int, error) {
	if r.at < len(r.kept) {
		n := copy(p, r.kept[r.at:])
		r.at += n
		return n, nil
	}
	if !r.open {
		r.kept = nil // there is no other reader
	}
	n, err := r.in.Read(p)
	if r.open {
		r.kept = append(r.kept, p[:n]...)
		r.at += n
	} else if err != nil {
		_ = r.close() // of what was read to its end
	}
	return n, err
}

// again returns the same content from the start, for another look.
func (in *input) again() (*input, error) {
	if in.stream != nil {
		return in.stream.input()
	}
	return openInput(in.path)
}

// checkStream reports a format that cannot be read from a stream.
func (in *input) checkStream(format string) error {
	if in.stream == nil || slices.Contains(streamed, format) {
		return nil
	}
	return message.New("not-in-order", "%s: %s data cannot be read from a pipe, because they are not read in order: "+
		"save them to a file first", in.path, format)
}

// isEmptyStream reports a pipe without rows whose format and row length are nevertheless known: it may have nothing to
// send.
func (in *input) isEmptyStream(format string, spec *Spec) bool {
	if in.stream == nil || spec.Format == "" || spec.Dim < 1 || !slices.Contains(headless, format) {
		return false
	}
	_, err := in.buf.Peek(1)
	return err == io.EOF
}

// noRows is an empty stream.
type noRows struct{ *input }

func (noRows) next(*record) error { return io.EOF }

// firstLine returns the first line of a stream if it is JSON, which determines the format without waiting for more.
func (in *input) firstLine() ([]byte, bool) {
	for n := 1; n <= maxTake; n = in.buf.Buffered() + 1 {
		if _, err := in.buf.Peek(n); err != nil {
			return nil, false
		}
		b, _ := in.buf.Peek(in.buf.Buffered()) // cannot fail: the bytes are in the buffer
		if b[0] != '{' && b[0] != '[' {
			return nil, false
		}
		if end := bytes.IndexByte(b, '\n'); end >= 0 {
			return b[:end+1], json.Valid(b[:end])
		}
	}
	return nil, false
}

// waits reports whether reading the next row may block: less of a stream is buffered than its bytes, or than a line if
// bytesOfRow is 0.
func (in *input) waits(bytesOfRow int) bool {
	if in.stream == nil {
		return false
	}
	n := in.buf.Buffered()
	if bytesOfRow > 0 {
		return n < bytesOfRow
	}
	b, _ := in.buf.Peek(n) // cannot fail: the bytes are in the buffer
	return bytes.IndexByte(b, '\n') < 0
}

// waiter is a reader that knows when it would block.
type waiter interface{ waits() bool }

func (d *dense) waits() bool { return d.at == d.n && d.in.waits(d.width()) }
