package export

import "encoding/binary"

// message is a protocol buffer message under construction (protobuf.dev, "Encoding"): a sequence of fields, each its
// number and type, then its value. ONNX needs few kinds of fields, so a generated package and its runtime, several
// megabytes of source, are not worth it.
type message []byte

const (
	varintType = 0
	bytesType  = 2
)

// number appends an integer field.
func (m *message) number(field int, v int64) {
	*m = binary.AppendUvarint(*m, uint64(field)<<3|varintType)
	*m = binary.AppendUvarint(*m, uint64(v))
}

// text appends a string field.
func (m *message) text(field int, s string) { m.bytes(field, []byte(s)) }

// bytes appends a field of bytes, or another message.
func (m *message) bytes(field int, b []byte) {
	*m = binary.AppendUvarint(*m, uint64(field)<<3|bytesType)
	*m = binary.AppendUvarint(*m, uint64(len(b)))
	*m = append(*m, b...)
}

// numbers appends a packed list of integers.
func (m *message) numbers(field int, list []int64) {
	var packed []byte
	for _, v := range list {
		packed = binary.AppendUvarint(packed, uint64(v))
	}
	m.bytes(field, packed)
}
