// Package training wraps Algorithm 3 with what long runs need: a checkpoint after every bit, resuming, a time
// limit, growing a model, and stopping when more bits do not help.
package training

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"hashgrove"
	"hashgrove/affinity"
	"hashgrove/feature"
	"hashgrove/model"
	"hashgrove/vectors"
)

// Job is one training run. Trainer, X and Y decide the model; the rest decides how to get there.
type Job struct {
	Trainer  hashgrove.Trainer
	X        *vectors.Columns
	Y        affinity.Matrix
	Similar  Similarity        // how Y was made; it is stored with the options
	Data     string            // digest of data and supervision, stored in the model
	Features feature.Extractor // what made the columns of pictures, for the model to carry; nil for vectors
	Info     model.Info        // Features, Classes and HeldOut of the model; the rest is filled in

	Grow *model.Model // bits to start from; X must be quantised with this model's quantiser

	Checkpoint string // folder for a file per bit; "" means none
	Resume     bool   // go on from the checkpoint, if there is one
	Restart    bool   // throw an existing checkpoint away

	TimeLimit  time.Duration // end before the bit that would not finish in time; 0 means none
	Validation *Validation   // held-out rows that are ranked after every bit; nil means none
	Patience   int           // stop when the validation has not improved for so many bits; 0 means never

	Progress func(hashgrove.Bit) // called after every newly learned bit
}

// Similarity tells how the affinity was made from the supervision.
type Similarity struct {
	From             string   `json:"from"` // classes, tags or pairs
	MinShared        int      `json:"min_shared,omitempty"`
	SampleSimilar    int      `json:"sample_similar,omitempty"`
	SampleDissimilar int      `json:"sample_dissimilar,omitempty"`
	HeldOut          []string `json:"held_out,omitempty"` // classes
	Validation       float64  `json:"validation,omitempty"`
	Mirrored         bool     `json:"mirrored,omitempty"` // mirror images of the pictures follow them
}

// Result is what a run leaves.
type Result struct {
	Model   *model.Model
	Bits    []hashgrove.Bit // the newly learned bits with their times, without their outputs
	Resumed int             // bits taken from the checkpoint
	Dropped int             // bits of the checkpoint that were damaged and are learned again
	Stopped string          // why there are fewer bits than asked for; "" when there are not
}

// ErrCheckpoint is returned when a checkpoint is in the way and neither Resume nor Restart was asked for.
var ErrCheckpoint = errors.New("an unfinished training is in the way")

// Run trains. When ctx ends, the checkpoint holds every finished bit and a later run can resume.
func (j Job) Run(ctx context.Context) (*Result, error) {
	began := time.Now()
	trainer, err := j.Trainer.WithDefaults()
	if err != nil {
		return nil, err
	}
	j.Trainer = trainer
	if j.Patience > 0 && j.Validation == nil {
		return nil, errors.New("patience needs a validation part")
	}
	done, stats, err := j.grown()
	if err != nil {
		return nil, err
	}
	result := &Result{}
	var ckpt *checkpoint
	if j.Checkpoint != "" {
		if ckpt, err = openCheckpoint(j.Checkpoint, j.identity(), j.Resume, j.Restart); err != nil {
			return nil, err
		}
		functions, saved, dropped, err := ckpt.load(j.X.Dim(), len(done)+1, trainer.Bits)
		if err != nil {
			return nil, err
		}
		done, stats = append(done, functions...), append(stats, saved...)
		result.Resumed, result.Dropped = len(functions), dropped
	}
	var watch *validator
	if j.Validation != nil {
		if watch, err = newValidator(ctx, j, done, stats); err != nil {
			return nil, err
		}
	}
	each := func(bit hashgrove.Bit) error {
		if watch != nil {
			if bit.Stat.Validation, err = watch.add(ctx, bit); err != nil {
				return err
			}
		}
		if ckpt != nil {
			if err := ckpt.save(bit.Bit, bit.Function, bit.Stat); err != nil {
				return err
			}
		}
		stats = append(stats, bit.Stat)
		if j.Progress != nil {
			j.Progress(bit)
		}
		result.Bits = append(result.Bits, bit)
		result.Bits[len(result.Bits)-1].Output = nil
		switch n := len(result.Bits); {
		case bit.Bit == trainer.Bits:
		case watch != nil && j.Patience > 0 && watch.stalled() >= j.Patience:
			result.Stopped = fmt.Sprintf("the validation has not improved since bit %d", watch.best)
			return hashgrove.ErrStop
		case j.TimeLimit > 0 && time.Since(began)*time.Duration(n+1)/time.Duration(n) > j.TimeLimit:
			result.Stopped = fmt.Sprintf("the time limit of %v leaves no time for another bit", j.TimeLimit)
			return hashgrove.ErrStop
		}
		return nil
	}
	var functions []model.Function
	if watch != nil && j.Patience > 0 && watch.stalled() >= j.Patience {
		functions = done // the run that made the checkpoint had come to this end
		result.Stopped = fmt.Sprintf("the validation has not improved since bit %d", watch.best)
	} else if functions, err = trainer.Train(ctx, j.X, j.Y, hashgrove.Run{Done: done, Each: each}); err != nil {
		return nil, err
	}
	if watch != nil && j.Patience > 0 && watch.stalled() >= j.Patience {
		functions, stats = functions[:watch.best], stats[:watch.best]
	}
	info := j.Info
	info.Method = "fasthash"
	if trainer.Order == hashgrove.TSH {
		info.Method = "tsh"
	}
	info.Version = hashgrove.Version
	info.Bits = stats
	info.Runs = j.runs(len(functions))
	result.Model = &model.Model{
		Encoder:  &model.Binned{Quantizer: j.X.Quantizer, Functions: functions},
		Features: j.Features,
		Info:     info,
	}
	return result, nil
}

// Finish removes the checkpoint once the model is safe on disk. A run that a time limit ended keeps it, so that
// it can still be resumed.
func (j Job) Finish(r *Result) error {
	if j.Checkpoint == "" || r.Stopped != "" && j.TimeLimit > 0 {
		return nil
	}
	return removeCheckpoint(j.Checkpoint)
}

// grown returns the bits of the model to grow.
func (j Job) grown() ([]model.Function, []model.BitStat, error) {
	if j.Grow == nil {
		return nil, nil, nil
	}
	old, ok := j.Grow.Encoder.(*model.Binned)
	if !ok {
		return nil, nil, fmt.Errorf("a model of kind %s cannot be grown", j.Grow.Encoder.Kind())
	}
	if old.Dim() != j.X.Dim() {
		return nil, nil, fmt.Errorf("the model to grow takes vectors of %d dimensions, the data have %d", old.Dim(), j.X.Dim())
	}
	if (j.Grow.Features == nil) != (j.Features == nil) || j.Features != nil && feature.Fingerprint(j.Grow.Features) != feature.Fingerprint(j.Features) {
		return nil, nil, errors.New("the model to grow makes its vectors with other features")
	}
	if j.Trainer.Order == hashgrove.TSH {
		return nil, nil, errors.New("the TSH order infers all bits at once, so its models cannot be grown")
	}
	if old.Kind() != string(j.Trainer.Learner) {
		return nil, nil, fmt.Errorf("a model of kind %s cannot be grown by the learner %s", old.Kind(), j.Trainer.Learner)
	}
	if old.Bits() >= j.Trainer.Bits {
		return nil, nil, fmt.Errorf("the model has %d bits already; ask for more than that", old.Bits())
	}
	return append([]model.Function(nil), old.Functions...), append([]model.BitStat(nil), j.Grow.Info.Bits...), nil
}

// runs tells which options and data made which bits. Growing with the same options on the same data is one run,
// so that the grown model is the very model that would have come out at once.
func (j Job) runs(bits int) []model.Run {
	run := model.Run{Bits: bits, Seed: j.Trainer.Seed, Data: j.Data, Rows: j.X.Rows, Options: j.options()}
	if j.Grow == nil {
		return []model.Run{run}
	}
	runs := append([]model.Run(nil), j.Grow.Info.Runs...)
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
	b, err := json.Marshal(fields)
	if err != nil {
		return options
	}
	return b
}

// options is what the model keeps of the options.
func (j Job) options() json.RawMessage {
	b, err := json.Marshal(struct {
		hashgrove.Trainer
		Similarity Similarity `json:"similarity"`
	}{j.Trainer, j.Similar})
	if err != nil {
		panic("training: options do not marshal: " + err.Error())
	}
	return b
}

// identity is what must be equal for a checkpoint to be resumed.
func (j Job) identity() []byte {
	id := struct {
		Version string          `json:"version"`
		Options json.RawMessage `json:"options"`
		Data    string          `json:"data"`
		Rows    int             `json:"rows"`
		Dim     int             `json:"dim"`
		Grow    string          `json:"grow,omitempty"`
	}{hashgrove.Version, j.options(), j.Data, j.X.Rows, j.X.Dim(), ""}
	if j.Grow != nil {
		id.Grow = j.Grow.Fingerprint().Full()
	}
	b, err := json.Marshal(id)
	if err != nil {
		panic("training: identity does not marshal: " + err.Error())
	}
	return b
}
