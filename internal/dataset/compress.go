package dataset

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"hashgrove/internal/message"
)

const (
	maxDim  = 1 << 24   // values of a vector; a row that claims more is an error
	maxLine = 64 << 20  // bytes of a line of text
	maxRows = 1 << 28   // values of a label file, which is held in memory
	maxTake = 256 << 10 // bytes returned at a time: the size of the buffer
	window  = 128 << 20 // memory a zstd file may need: the limit of the zstd command
)

// input is the content of a file, decompressed on the way through one buffer.
type input struct {
	path   string      // how errors call it
	size   int64       // bytes of the content, or -1 when unknown before reading
	disk   int64       // bytes on disk; those of a stream are not known
	held   int64       // memory taken for what was read, see hold
	came   int64       // bytes of content read or decompressed so far
	made   int64       // values of the rows so far, see worth
	packed string      // "gzip", "zstd" or ""
	at     io.ReaderAt // the content in any order; nil when packed or a stream
	stream *stream     // the source of content that can be read only once, else nil
	buf    *bufio.Reader
	lines  int    // read so far
	long   []byte // a line longer than the buffer
	close  []func() error
}

// openInput opens a regular file. Compression is recognised by content, whatever the name.
func openInput(path string) (*input, error) {
	info, err := message.Stat(path)
	if err != nil {
		return nil, err
	}
	// A second pass over a pipe would find nothing, and opening one can block forever.
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: is not a file: data are read more than once, so folders and pipes cannot be used", path)
	}
	f, err := message.Open(path)
	if err != nil {
		return nil, err
	}
	in := &input{path: path, size: info.Size(), disk: info.Size(), at: f, close: []func() error{f.Close}}
	var head [4]byte
	n, err := f.ReadAt(head[:], 0)
	if err == io.EOF {
		err = nil
	}
	if err == nil {
		err = in.unpack(f, head[:n])
	}
	if err != nil {
		in.Close()
		return nil, err
	}
	return in, nil
}

// unpack reads f, which begins with head, through a decompressor if it needs one.
func (in *input) unpack(f io.Reader, head []byte) error {
	r := f
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		in.packed = "gzip"
		z, err := gzip.NewReader(bufio.NewReaderSize(f, maxTake))
		if err != nil {
			return in.damaged(err)
		}
		r = z
		in.close = append(in.close, z.Close)
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		in.packed = "zstd"
		z, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(window),
			zstd.WithDecoderLowmem(true))
		if err != nil {
			return in.damaged(err)
		}
		r = z
		in.close = append(in.close, func() error { z.Close(); return nil })
	}
	if in.packed != "" {
		in.size, in.at = -1, nil
	}
	if in.size < 0 {
		r = &unpacked{in, r}
	}
	in.buf = bufio.NewReaderSize(r, maxTake)
	return nil
}

// checkPlain reports a compressed file where random access is needed.
func (in *input) checkPlain(what string) error {
	if in.at != nil {
		return nil
	}
	return message.New("packed-inside",
		"%s: is %s inside %s, which cannot be read in place: decompress it first (%s is compressed inside)",
		in.path, what, in.packed, what)
}

func (in *input) damaged(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || err == io.EOF {
		return message.New("cut-off", "%s: the %s data end too early: the file is cut off", in.path, in.packed)
	}
	return fmt.Errorf("%s: the %s data are damaged: %w", in.path, in.packed, err)
}

// unpacked counts the bytes of content of unknown length, and adds the name of the file to a decompressor's errors.
type unpacked struct {
	in *input
	r  io.Reader
}

func (u *unpacked) Read(p []byte) (int, error) {
	n, err := u.r.Read(p)
	u.in.came += int64(n)
	if err != nil && err != io.EOF && u.in.packed != "" {
		err = u.in.damaged(err)
	}
	return n, err
}

func (in *input) Close() error {
	var errs []error
	for i := len(in.close) - 1; i >= 0; i-- {
		errs = append(errs, in.close[i]())
	}
	in.close = nil
	return errors.Join(errs...)
}

// head returns the first bytes, at most maxTake, without consuming them. They are valid until the next call. For a
// stream of JSON lines it returns the first line, so that it can be answered at once.
func (in *input) head() ([]byte, error) {
	if in.stream != nil {
		if line, ok := in.firstLine(); ok {
			return line, nil
		}
	}
	b, err := in.buf.Peek(maxTake)
	if err == io.EOF {
		err = nil
	}
	return b, err
}

// take returns the next n bytes, at most maxTake, valid until the next call. At the end it returns io.EOF, or
// io.ErrUnexpectedEOF if fewer than n are left.
func (in *input) take(n int) ([]byte, error) {
	b, err := in.buf.Peek(n)
	if err != nil {
		if err == io.EOF && len(b) > 0 {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	_, err = in.buf.Discard(n)
	return b, err
}

// line returns the next line without its end, valid until the next call. A byte order mark before the first is
// dropped by skipMark, not here.
func (in *input) line() ([]byte, error) {
	b, err := in.buf.ReadSlice('\n')
	if err == bufio.ErrBufferFull {
		in.long = in.long[:0]
		for err == bufio.ErrBufferFull {
			if in.long = append(in.long, b...); len(in.long) > maxLine {
				return nil, message.New("line-too-long", "%s: a line is longer than %d bytes: is this a text file?", in.path,
					maxLine)
			}
			b, err = in.buf.ReadSlice('\n')
		}
		in.long = append(in.long, b...)
		b = in.long
	}
	if err == io.EOF && len(b) > 0 {
		err = nil
	}
	if err != nil {
		return nil, err
	}
	if in.lines++; !utf8.Valid(b) {
		return nil, message.New("wrong-encoding",
			"%s: line %d is not UTF-8: save the file as UTF-8, for instance with iconv -f "+
				"latin1 -t utf-8", in.path, in.lines)
	}
	return bytes.TrimSuffix(bytes.TrimSuffix(b, []byte("\n")), []byte("\r")), nil
}

// text returns the next line that is not blank.
func (in *input) text() ([]byte, error) {
	for {
		line, err := in.line()
		if err != nil || len(bytes.TrimSpace(line)) > 0 {
			return line, err
		}
	}
}

// skipMark drops the byte order mark that some programs put before UTF-8 text.
func (in *input) skipMark() {
	if b, _ := in.buf.Peek(3); string(b) == "\ufeff" {
		_, _ = in.buf.Discard(3) // cannot fail: the bytes are in the buffer
	}
}
