package stream

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"hashgrove/internal/fault"
	"hashgrove/internal/hamming"
)

// Format is the format of a message's value.
type Format string

const (
	// JSON is {"id": ..., "vector": [...], ...} in, and {"id": ..., "code": "hex", "fingerprint": "hex", ...} out. The
	// id is a string or a number; without one it is the key of the message. Other fields are passed on unchanged.
	JSON Format = "json"
	// Raw is float32 values in little-endian order; the id is the key of the message.
	Raw Format = "raw"
	// Packed is the bytes of the code, first bit highest; the id is the key of the message.
	Packed Format = "packed"
)

// item is a parsed message.
type item struct {
	id     string
	idJSON []byte // as it was written; nil if it was the key
	others []byte // ,"name":value for each field to pass on
}

// parse parses a message and appends its vector to row. On error it returns row unchanged.
func (p *processor) parse(m Message, row []float32) (item, []float32, error) {
	if len(m.Value) > p.o.MaxMessage {
		return item{}, row, fault.New("too-large", "the message has %d bytes: %d are allowed",
			len(m.Value), p.o.MaxMessage)
	}
	it, parsed, err := item{id: m.Key}, row, error(nil)
	if p.o.From == Raw {
		parsed, err = appendRaw(row, m.Value, p.dim)
	} else {
		parsed, err = p.parseJSON(&it, row, m.Value)
	}
	switch {
	case err != nil:
	case it.id == "":
		err = fault.New("no-id", "the message has no id and no key")
	case len(it.id) > hamming.MaxID:
		err = fmt.Errorf("the id has %d bytes: %d are allowed", len(it.id), hamming.MaxID)
	case p.o.To == JSON && !utf8.ValidString(it.id):
		err = errors.New("the id is not valid UTF-8, which JSON needs")
	}
	if err != nil {
		return item{}, row, err
	}
	return it, parsed, nil
}

// appendRaw appends float32 values.
func appendRaw(row []float32, value []byte, dim int) ([]float32, error) {
	if len(value) != 4*dim {
		return row, fault.New("wrong-length", "the message has %d bytes, but a vector of %d float32 values has %d",
			len(value), dim, 4*dim)
	}
	for ; len(value) > 0; value = value[4:] {
		row = append(row, math.Float32frombits(binary.LittleEndian.Uint32(value)))
	}
	return row, nil
}

// parseJSON reads the fields of an object once, in order.
func (p *processor) parseJSON(it *item, row []float32, value []byte) ([]float32, error) {
	if !utf8.Valid(value) {
		return row, fault.New("not-utf8", "the message is not valid UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(value))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return row, fault.New("not-an-object", "the message is not a JSON object")
	}
	seen := map[string]bool{}
	for d.More() {
		name, raw, err := field(d)
		if err != nil {
			return row, err
		}
		if seen[name] {
			return row, fault.New("duplicate-field", "the field %q appears twice", name)
		}
		seen[name] = true
		switch name {
		case "id":
			it.idJSON = raw
			it.id, err = parseID(raw)
		case "vector":
			row, err = appendNumbers(row, raw, p.dim)
		case "code", "fingerprint": // from an earlier encoding
		default:
			it.others = append(it.others, ',')
			it.others = appendText(it.others, name)
			it.others = append(append(it.others, ':'), raw...)
		}
		if err != nil {
			return row, err
		}
	}
	if _, err := d.Token(); err != nil {
		return row, fault.New("bad-json", "the message is not complete JSON: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return row, fault.New("more-than-one", "something follows the JSON object")
	}
	if !seen["vector"] {
		return row, fault.New("no-vector", "the message has no field \"vector\"")
	}
	return row, nil
}

// field reads the name and the value of the next field.
func field(d *json.Decoder) (name string, raw json.RawMessage, err error) {
	t, err := d.Token()
	if err == nil {
		name, _ = t.(string)
		err = d.Decode(&raw)
	}
	if err != nil {
		err = fault.New("bad-json", "the message is not complete JSON: %w", err)
	}
	return name, raw, err
}

// parseID returns the id as text; a number stays as it was written.
func parseID(raw []byte) (string, error) {
	if raw[0] == '"' {
		var id string
		err := json.Unmarshal(raw, &id)
		return id, err
	}
	if raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9' {
		return string(raw), nil
	}
	return "", fault.New("bad-id", "the id is %s, and not a text or a number", shorten(raw))
}

// appendNumbers appends the numbers of a JSON array; null is a missing value, NaN.
func appendNumbers(row []float32, raw []byte, dim int) ([]float32, error) {
	if raw[0] != '[' {
		return row, fmt.Errorf("the vector is %s, and not an array of numbers", shorten(raw))
	}
	raw = bytes.TrimSpace(raw[1 : len(raw)-1])
	have := 0
	if len(raw) > 0 {
		have = bytes.Count(raw, []byte{','}) + 1
	}
	if have != dim && !bytes.ContainsAny(raw, "\"[{") {
		return row, fault.New("wrong-dimension", "the vector has %d values, the model was trained on %d", have, dim)
	}
	for i := 0; len(raw) > 0; i++ {
		number, rest, _ := bytes.Cut(raw, []byte{','})
		number, raw = bytes.TrimSpace(number), rest
		if string(number) == "null" {
			row = append(row, float32(math.NaN()))
			continue
		}
		v, err := strconv.ParseFloat(string(number), 32)
		if errors.Is(err, strconv.ErrRange) {
			return row, fault.New("out-of-range", "value %d of the vector is %s, which is beyond float32", i, shorten(number))
		}
		if err != nil {
			return row, fault.New("not-a-number", "value %d of the vector is %s, and not a number", i, shorten(number))
		}
		row = append(row, float32(v))
	}
	return row, nil
}

// write returns the message with the code of an item.
func (p *processor) write(in Message, it item, code []byte) Message {
	out := Message{
		Topic: p.o.Output, Key: it.id, Unique: p.unique(in, p.o.Output), Headers: append(in.passedOn(), p.headers(in)...),
	}
	if p.o.To == Packed {
		out.Value = code
		return out
	}
	if it.idJSON == nil {
		it.idJSON = appendText(nil, it.id)
	}
	v := make([]byte, 0, 64+len(it.idJSON)+2*len(code)+len(p.fingerprint)+len(it.others))
	v = append(append(v, `{"id":`...), it.idJSON...)
	v = hex.AppendEncode(append(v, `,"code":"`...), code)
	v = append(append(v, `","fingerprint":"`...), p.fingerprint...)
	out.Value = append(append(append(v, '"'), it.others...), '}')
	return out
}

// bury returns the dead letter of a message.
func (p *processor) bury(in Message, reason error) Message {
	headers := append(in.passedOn(), p.headers(in)...)
	return Message{
		Topic: p.o.DeadLetters, Key: in.Key, Value: in.Value, Unique: p.unique(in, p.o.DeadLetters),
		Headers: append(headers, Header{HeaderReason, oneLine(reason.Error())}),
	}
}

func (p *processor) headers(in Message) []Header {
	return []Header{
		{HeaderFingerprint, p.fingerprint}, {HeaderBits, strconv.Itoa(p.m.Encoder.Bits())}, {HeaderSource, in.Source},
	}
}

// unique identifies a message by its source, the model and its destination.
func (p *processor) unique(in Message, topic string) string {
	return in.Source + " " + topic + " " + p.fingerprint
}

// appendText appends a JSON string.
func appendText(dst []byte, s string) []byte {
	quoted, err := json.Marshal(s)
	if err != nil {
		panic(err) // cannot happen
	}
	return append(dst, quoted...)
}

// shorten shortens a value for an error.
func shorten(raw []byte) string {
	if len(raw) > 40 {
		return strconv.QuoteToASCII(string(raw[:40])) + "..."
	}
	return strconv.QuoteToASCII(string(raw))
}

// oneLine returns a text that every broker accepts as a header.
func oneLine(s string) string {
	q := strconv.QuoteToASCII(s[:min(len(s), 500)])
	return strings.ReplaceAll(q[1:len(q)-1], `\"`, `"`)
}
