// Package export writes codes and models for other programs.
//
//	WriteFAISS   codes -> an index file that FAISS reads
//	WriteONNX    a model -> a graph from vectors to codes and margins for ONNX runtimes
//
// Exported trees give the model's own bits for every vector: thresholds are the float32 values at which its bins begin.
package export

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"

	"hashgrove/internal/hamming"
)

// hamming/faiss.go, which reads these files, describes their layout. Codes are padded with zeros to whole bytes,
// which changes no distance.

const (
	flatMark, idMapMark = "IBxF", "IBMp"
	hammingMetric       = 1 // METRIC_L2, the placeholder in binary indexes
)

// WriteFAISS writes codes as an IndexBinaryFlat or, with ids, as an IndexBinaryIDMap around one.
func WriteFAISS(w io.Writer, codes hamming.Codes, ids []int64) error {
	if ids != nil && len(ids) != codes.Len() {
		panic(fmt.Sprintf("export: %d ids for %d codes", len(ids), codes.Len()))
	}
	out := bufio.NewWriterSize(w, 1<<16)
	if ids != nil {
		writeFAISSHead(out, idMapMark, codes)
	}
	writeFAISSHead(out, flatMark, codes)
	_ = binary.Write(out, binary.LittleEndian, uint64(codes.Len()*codes.Bytes()))
	var packed []byte
	for i := range codes.Len() {
		packed = codes.AppendBytes(packed[:0], i)
		_, _ = out.Write(packed) // errors stay until Flush
	}
	if ids != nil {
		_ = binary.Write(out, binary.LittleEndian, uint64(len(ids)))
		_ = binary.Write(out, binary.LittleEndian, ids)
	}
	return out.Flush()
}

func writeFAISSHead(out io.Writer, mark string, codes hamming.Codes) {
	_, _ = io.WriteString(out, mark)
	_ = binary.Write(out, binary.LittleEndian, faissHead{
		D: int32(8 * codes.Bytes()), CodeSize: int32(codes.Bytes()), Total: int64(codes.Len()), Trained: 1,
		Metric: hammingMetric,
	})
}

type faissHead struct {
	D, CodeSize int32
	Total       int64
	Trained     uint8
	Metric      int32
}
