package method

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"hashgrove/internal/fasthash/columns"
	"hashgrove/internal/message"
	"hashgrove/internal/model"
	"hashgrove/internal/supervision"
	"hashgrove/internal/testkit/methodtest"
	"hashgrove/internal/testkit/needs"
	"hashgrove/internal/vectors"
)

// TestMappedTrainingHoldsTheSameRowsOut trains with rows held out, classes left out, and everything in mapped files.
func TestMappedTrainingHoldsTheSameRowsOut(t *testing.T) {
	src := methodtest.Classed(3, 700, 12, 5)
	memory := vectors.NewSpill(t.TempDir())
	defer memory.Close()
	if _, err := vectors.Alloc[uint8](memory, 1<<16); errors.Is(err, vectors.ErrUnsupported) {
		needs.Skip(t, needs.Mapping, err)
	}
	o := few(3)
	o.Validation, o.FastHash.LinearColumns, o.FastHash.Candidates = 0.2, columns.Off, 2
	written := func(d *supervision.Data, o Options) []byte {
		var b bytes.Buffer
		if err := model.Write(&b, trained(t, FastHash, d, o)); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	mapped, err := supervision.Scan(context.Background(), src,
		supervision.ScanOptions{Digest: true, Hashes: true, Spill: memory})
	if err != nil {
		t.Fatal(err)
	}
	for _, left := range [][]string{nil, {mapped.Labels.Names[1]}} {
		o.HoldOut, o.Run.Spill = left, nil
		want := written(hashed(t, src), o)
		o.Run.Spill = memory
		if got := written(mapped, o); !bytes.Equal(got, want) {
			t.Errorf("without the classes %v: the models differ", left)
		}
	}
	_, err = Train(context.Background(), "pca-itq", mapped, o)
	if d := message.Differs(err, "needs-memory", "FastHash"); d != "" {
		t.Errorf("another method: %s", d)
	}
}
