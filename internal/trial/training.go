package trial

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"time"

	"hashgrove/fasthash"
	"hashgrove/method"
	"hashgrove/model"
	"hashgrove/supervision"
)

// Training is a finished training.
type Training struct {
	Model   *model.Model
	Resumed int // bits taken from the checkpoint

	rest float64 // seconds that belong to no bit
	clock
}

// Train has a method learn from the data. With o.Run.Checkpoint it resumes an unfinished training, unless o.Run.Restart
// is set.
func Train(ctx context.Context, name string, d *supervision.Data, o method.Options) (*Training, error) {
	t, report := &Training{clock: readClock(o.Run)}, new(fasthash.Report)
	progress := o.Run.Progress
	o.Run.Resume, o.Run.Report = o.Run.Checkpoint != "" && !o.Run.Restart, report
	o.Run.Progress = func(b fasthash.Bit) {
		t.record(b)
		if progress != nil {
			progress(b)
		}
	}
	began := time.Now()
	var err error
	if t.Model, err = method.Train(ctx, name, d, o); err != nil {
		return nil, err
	}
	t.rest = time.Since(began).Seconds()
	for _, b := range report.Bits {
		t.rest -= bitSeconds(b)
	}
	t.rest = max(0, t.rest)
	t.Resumed = report.Resumed
	return t, nil
}

// Seconds is the time of training up to a number of bits, interrupted runs included. A prefix of FastHash took the time
// of its bits; methods that do not learn bit by bit took the time of all.
func (t *Training) Seconds(bits int) float64 { return t.rest + t.until(bits) }

// Discard removes the checkpoint of a finished training and the clock beside it; "" names none.
func Discard(checkpoint string) error {
	if checkpoint == "" {
		return nil
	}
	return errors.Join(os.RemoveAll(checkpoint), os.RemoveAll(clockFile(checkpoint)))
}

// clock keeps the seconds of every bit, in a file beside the checkpoint: an interrupted training took its time too.
type clock struct {
	path  string
	times struct {
		Seconds []float64 `json:"seconds"` // by bit; 0 where it is not known
	}
}

func clockFile(checkpoint string) string { return checkpoint + ".json" }

func readClock(run fasthash.Run) (c clock) {
	if run.Checkpoint == "" {
		return c
	}
	c.path = clockFile(run.Checkpoint)
	if b, err := os.ReadFile(c.path); err == nil && !run.Restart {
		_ = json.Unmarshal(b, &c.times) // damaged times are unknown times
	}
	return c
}

func bitSeconds(b fasthash.Bit) float64 { return (b.Inference + b.Boost).Seconds() }

// record keeps the time of a bit.
func (c *clock) record(b fasthash.Bit) {
	s := &c.times.Seconds
	*s = append(*s, make([]float64, max(0, b.Bit-len(*s)))...)
	(*s)[b.Bit-1] = bitSeconds(b)
	if text, err := json.Marshal(c.times); err == nil && c.path != "" {
		_ = os.WriteFile(c.path, text, 0o666) // times that are lost are unknown times: not worth a sync, nor a failure
	}
}

// until is the seconds of the first bits; one whose time is not known took the mean of the others.
func (c *clock) until(bits int) float64 {
	all, known := 0.0, 0
	for _, v := range c.times.Seconds {
		if v > 0 {
			all += v
			known++
		}
	}
	if known == 0 {
		return 0
	}
	sum := 0.0
	for i := range bits {
		if i < len(c.times.Seconds) && c.times.Seconds[i] > 0 {
			sum += c.times.Seconds[i]
		} else {
			sum += all / float64(known)
		}
	}
	return sum
}
