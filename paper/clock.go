package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"

	"hashgrove"
	"hashgrove/internal/fasthash"
	"hashgrove/internal/model"
	"hashgrove/internal/vectors"
)

// timed is a finished training and the seconds it took.
type timed struct {
	model   *model.Model
	resumed int     // bits taken from the checkpoint
	rest    float64 // seconds outside any bit
	clock
}

// trainTimed learns from all rows, since other data measure the model. If there is a checkpoint it resumes. Only the
// method itself is timed.
func trainTimed(ctx context.Context, src vectors.Source, o hashgrove.Options) (*timed, error) {
	t := &timed{clock: readClock(o)}
	progress := o.Progress
	o.Validation, o.Resume = new(0.0), o.Checkpoint != ""
	o = o.For(o.Method)
	o.Progress = func(p hashgrove.Progress) {
		if p.Learned != nil {
			t.record(*p.Learned)
		}
		if progress != nil {
			progress(p)
		}
	}
	made, err := hashgrove.Train(ctx, hashgrove.From(src), o)
	if err != nil {
		return nil, err
	}
	t.model, t.rest = made.Expert(), made.Report.Learning.Seconds()
	if r := made.Report.FastHash; r != nil {
		for _, b := range r.Bits {
			t.rest -= bitSeconds(b)
		}
		t.resumed = r.Resumed
	}
	t.rest = max(0, t.rest)
	return t, nil
}

// seconds returns the time to train up to a number of bits, including interrupted runs. A FastHash prefix takes the
// time of its bits; methods that do not learn bit by bit take the time of all.
func (t *timed) seconds(bits int) float64 { return t.rest + t.until(bits) }

// discard removes the checkpoint of a finished training and its clock.
func discard(checkpoint string) error {
	return errors.Join(os.RemoveAll(checkpoint), os.RemoveAll(clockFile(checkpoint)))
}

// clock records the seconds of every bit in a file beside the checkpoint, so that interrupted runs count too.
type clock struct {
	path  string
	times struct {
		Seconds []float64 `json:"seconds"` // per bit; 0 if unknown
	}
}

func clockFile(checkpoint string) string { return checkpoint + ".json" }

func readClock(o hashgrove.Options) (c clock) {
	if o.Checkpoint == "" {
		return c
	}
	c.path = clockFile(o.Checkpoint)
	if b, err := os.ReadFile(c.path); err == nil {
		_ = json.Unmarshal(b, &c.times) // damaged times count as unknown
	}
	return c
}

func bitSeconds(b fasthash.Bit) float64 { return (b.Inference + b.Boost).Seconds() }

// record stores the time of a bit.
func (c *clock) record(b fasthash.Bit) {
	s := &c.times.Seconds
	*s = append(*s, make([]float64, max(0, b.Bit-len(*s)))...)
	(*s)[b.Bit-1] = bitSeconds(b)
	if text, err := json.Marshal(c.times); err == nil && c.path != "" {
		_ = os.WriteFile(c.path, text, 0o666) // lost times count as unknown: not worth a sync or a failure
	}
}

// until returns the seconds of the first bits. Bits of unknown time count as the mean of the others.
func (c *clock) until(bits int) float64 {
	all, known := 0.0, 0
	sum, missing := 0.0, bits
	for i, v := range c.times.Seconds {
		if v <= 0 {
			continue
		}
		all, known = all+v, known+1
		if i < bits {
			sum, missing = sum+v, missing-1
		}
	}
	return sum + float64(missing)*all/float64(max(1, known))
}
