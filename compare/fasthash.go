package compare

import (
	"context"
	"encoding/json"
	"os"
	"time"

	"hashgrove"
	"hashgrove/model"
	"hashgrove/training"
	"hashgrove/vectors"
)

// fastHash trains once, at the longest length. Bit k depends on earlier bits only, so the shorter codes are prefixes, and
// their training took the time of their bits.
func (s *stage) fastHash(ctx context.Context, t *task) ([]Row, error) {
	m, took, err := s.learn(ctx, s.base, s.checkpoint(t, "base"))
	if err != nil {
		return nil, err
	}
	var unseen *model.Model
	if s.held != nil {
		if unseen, _, err = s.learn(ctx, s.seen, s.checkpoint(t, "unseen")); err != nil {
			return nil, err
		}
	}
	var rows []Row
	for _, bits := range t.bits {
		row, short := t.row(bits), m.Prefix(bits)
		row.TrainSeconds = s.front.train + took(bits)
		for _, stat := range short.Info.Bits {
			row.Objective = append(row.Objective, stat.Objective)
		}
		if err := s.measure(ctx, &row, short.Encode); err != nil {
			return nil, err
		}
		if unseen != nil {
			if err := s.measureUnseen(ctx, &row, unseen.Prefix(bits).Encode); err != nil {
				return nil, err
			}
		}
		s.hand(t, bits, short)
		rows = append(rows, row)
	}
	return rows, nil
}

// learn trains FastHash on a part, going on from a checkpoint where there is one. It also returns the seconds of training
// to a number of bits.
func (s *stage) learn(ctx context.Context, p *Part, checkpoint string) (*model.Model, func(bits int) float64, error) {
	began := time.Now()
	ranges, err := vectors.RangesOf(ctx, p.X)
	if err != nil {
		return nil, nil, err
	}
	quantizer, err := ranges.Quantizer()
	if err != nil {
		return nil, nil, err
	}
	x, err := vectors.Quantize(ctx, p.X, p.X.Rows, quantizer, s.o.Threads)
	if err != nil {
		return nil, nil, err
	}
	y, err := s.data.affinity(p)
	if err != nil {
		return nil, nil, err
	}
	clock := newClock(s.o.FastHash.Bits, checkpoint)
	var late error // of the clock; the training is worth more
	job := training.Job{Trainer: s.o.FastHash, X: x, Y: y, Data: p.Digest, Progress: func(b hashgrove.Bit) {
		late = clock.note(b)
		s.step()
	}}
	if p.Labels != nil {
		job.Similar.From, job.Info.Classes = "classes", p.Labels.Names
	} else {
		job.Similar.From, job.Similar.MinShared = "tags", s.data.MinShared
	}
	if checkpoint != "" {
		job.Checkpoint, job.Resume, job.Restart = checkpoint, !s.o.Restart, s.o.Restart
	}
	prepared := time.Since(began).Seconds()
	result, err := job.Run(ctx)
	if err != nil {
		return nil, nil, err
	}
	for range result.Resumed {
		s.step()
	}
	return result.Model, func(bits int) float64 { return prepared + clock.until(bits) }, late
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

func (c *clock) note(b hashgrove.Bit) error {
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
