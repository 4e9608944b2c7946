package fasthash

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"hashgrove/internal/model"
	"hashgrove/internal/picture/feature"
)

// What a run of training begins with, keeps after every bit, and leaves in the model.

// doneBits collects the bits already learned: those of the model to grow and those of the checkpoint.
func (t *training) doneBits(ctx context.Context) (done []model.Function, stats []model.BitStat, err error) {
	if done, stats, err = t.grownBits(); err != nil {
		return nil, nil, err
	}
	if t.Checkpoint != "" {
		if t.ckpt, err = openCheckpoint(t); err != nil {
			return nil, nil, err
		}
		saved, dropped, err := t.ckpt.load(t.x, len(done)+1, t.Bits)
		if err != nil {
			return nil, nil, err
		}
		for _, b := range saved {
			done, stats = append(done, b.Function), append(stats, b.Stat)
		}
		t.report.Resumed, t.report.Dropped = len(saved), dropped
	}
	return done, stats, err
}

// afterBit returns what to do after every bit: save and report it.
func (t *training) afterBit(stats *[]model.BitStat) func(Bit) error {
	return func(bit Bit) error {
		if t.ckpt != nil {
			if err := t.ckpt.save(bit); err != nil {
				return err
			}
		}
		*stats = append(*stats, bit.Stat)
		if t.Progress != nil {
			t.Progress(bit)
		}
		t.report.Bits = append(t.report.Bits, bit)
		return nil
	}
}

// grownBits returns the bits of the model to grow.
func (t *training) grownBits() ([]model.Function, []model.BitStat, error) {
	if t.Grow == nil {
		return nil, nil, nil
	}
	old, err := t.toGrow()
	if err != nil {
		return nil, nil, err
	}
	if (t.Grow.Features == nil) != (t.Features == nil) ||
		t.Features != nil && feature.Fingerprint(t.Grow.Features) != feature.Fingerprint(t.Features) {
		return nil, nil, errors.New("the model to grow uses other features")
	}
	switch {
	case t.Order == TSH:
		return nil, nil, errors.New("the TSH order infers all bits at once, so its models cannot be grown")
	case old.Bits() >= t.Bits:
		return nil, nil, fmt.Errorf("the model has %d bits already; ask for more than that", old.Bits())
	}
	return append([]model.Function(nil), old.Functions...), append([]model.BitStat(nil), t.Grow.Info.Bits...), nil
}

// runs records which options and data made which bits. Growing with the same options on the same data counts as one
// run, so the grown model equals one trained at once.
func (t *training) runs(bits int) []model.Run {
	run := model.Run{Bits: bits, Seed: t.Seed, Data: t.data, Rows: t.x.Rows, Options: t.storedOptions()}
	if t.Grow == nil {
		return []model.Run{run}
	}
	runs := append([]model.Run(nil), t.Grow.Info.Runs...)
	if last := len(runs) - 1; last >= 0 && runs[last].Data == run.Data && runs[last].Seed == run.Seed &&
		bytes.Equal(withoutBits(runs[last].Options), withoutBits(run.Options)) {
		runs[last] = run
		return runs
	}
	return append(runs, run)
}

func withoutBits(options json.RawMessage) []byte {
	var fields map[string]json.RawMessage
	if json.Unmarshal(options, &fields) != nil {
		return options
	}
	delete(fields, "bits")
	return mustMarshal(fields)
}

// storedOptions returns the options as stored in the model.
func (t *training) storedOptions() json.RawMessage { return mustMarshal(t.Options) }

func mustMarshal(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("fasthash: %T does not marshal: %v", v, err))
	}
	return b
}

// identity returns what must match for a checkpoint to be resumed.
func (t *training) identity() []byte {
	id := struct {
		Version string          `json:"version"`
		Options json.RawMessage `json:"options"`
		Data    string          `json:"data"`
		Rows    int             `json:"rows"`
		Dim     int             `json:"dim"`
		Grow    string          `json:"grow,omitempty"`
	}{model.Version, t.storedOptions(), t.data, t.x.Rows, t.x.Dim(), ""}
	if t.Grow != nil {
		id.Grow = t.Grow.Fingerprint().Full()
	}
	return mustMarshal(id)
}
