package export

import "encoding/binary"

// message is a protocol buffer message in the making (protobuf.dev, "Encoding"): fields one after the other, each its
// number and type, then its value. ONNX needs few kinds of fields, so a generated package and its runtime, several
// megabytes of source, are not worth their weight.
type message []byte

const (
	varintType = 0
	bytesType  = 2
)

// number appends a field that is an integer.
func (m *message) number(field int, v int64) {
	*m = binary.AppendUvarint(*m, uint64(field)<<3|varintType)
	*m = binary.AppendUvarint(*m, uint64(v))
}

// text appends a field that is a text.
func (m *message) text(field int, s string) { m.bytes(field, []byte(s)) }

// bytes appends a field that is bytes, or another message.
func (m *message) bytes(field int, b []byte) {
	*m = binary.AppendUvarint(*m, uint64(field)<<3|bytesType)
	*m = binary.AppendUvarint(*m, uint64(len(b)))
	*m = append(*m, b...)
}

// numbers appends a field that is a packed list of integers.
func (m *message) numbers(field int, list []int64) {
	var packed []byte
	for _, v := range list {
		packed = binary.AppendUvarint(packed, uint64(v))
	}
	m.bytes(field, packed)
}
