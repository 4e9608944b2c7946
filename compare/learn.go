package compare

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"time"

	"hashgrove/fasthash"
	"hashgrove/method"
	"hashgrove/model"
)

// learn trains the method of a task on a part, resuming from a checkpoint where there is one. It also returns the seconds
// of training to a number of bits: a prefix of FastHash took the time of its bits, other methods that of all.
func (s *stage) learn(ctx context.Context, t *task, p *Part, part string) (*model.Model, func(bits int) float64, error) {
	longest := slices.Max(append([]int{0}, t.bits...))
	checkpoint, report := s.checkpoint(t, part), new(fasthash.Report)
	clock := newClock(longest, checkpoint)
	var late error // of the clock; the training is worth more
	o := method.Options{Bits: longest, Seed: s.o.Seed, Threads: s.o.Threads, FastHash: s.o.FastHash}
	o.Run.Report = report
	o.Run.Progress = func(b fasthash.Bit) {
		late = clock.record(b)
		s.step()
	}
	if checkpoint != "" {
		o.Run.Checkpoint, o.Run.Resume, o.Run.Restart = checkpoint, !s.o.Restart, s.o.Restart
	}
	began := time.Now()
	m, err := method.Train(ctx, t.method, p.Data, o)
	if err != nil {
		return nil, nil, err
	}
	total := time.Since(began).Seconds()
	if t.method != method.FastHash {
		return m, func(int) float64 { return total }, nil
	}
	for _, b := range report.Bits {
		total -= (b.Inference + b.Boost).Seconds() // what is left is the preparation
	}
	for range report.Resumed {
		s.step()
	}
	return m, func(bits int) float64 { return max(0, total) + clock.until(bits) }, late
}

// checkpoint is the folder of an unfinished training of a task, "" without a work folder.
func (s *stage) checkpoint(t *task, part string) string {
	if s.o.Work == "" {
		return ""
	}
	return s.path(t) + "." + part + ".ckpt"
}

// clock keeps the seconds of every bit, in a file beside the checkpoint: an interrupted training took its time too.
type clock struct {
	path    string
	Seconds []float64 `json:"seconds"` // by bit; 0 where nobody knows
}

func newClock(bits int, checkpoint string) *clock {
	c := &clock{}
	if checkpoint != "" {
		c.path = checkpoint + ".json"
		if b, err := os.ReadFile(c.path); err == nil {
			_ = json.Unmarshal(b, c) // damaged times are unknown times
		}
	}
	c.Seconds = append(c.Seconds, make([]float64, bits)...)[:bits]
	return c
}

// record keeps the time of a bit.
func (c *clock) record(b fasthash.Bit) error {
	c.Seconds[b.Bit-1] = (b.Inference + b.Boost).Seconds()
	if c.path == "" {
		return nil
	}
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return os.WriteFile(c.path, text, 0o666) // not worth a sync for every bit: times that are lost are unknown times
}

// until is the seconds of the first bits; one whose time is not known took the mean of the others.
func (c *clock) until(bits int) float64 {
	sum, known := 0.0, 0
	for _, v := range c.Seconds {
		if v > 0 {
			sum += v
			known++
		}
	}
	mean := sum / float64(max(1, known))
	sum = 0
	for _, v := range c.Seconds[:bits] {
		if v == 0 {
			v = mean
		}
		sum += v
	}
	return sum
}
