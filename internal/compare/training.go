package compare

import (
	"context"
	"fmt"
	"strings"
	"time"

	"hashgrove"
	"hashgrove/internal/message"
	"hashgrove/internal/model"
	"hashgrove/internal/model/inside"
)

// training is a finished training and the seconds that the method took.
type training struct {
	model *model.Model
	bits  []float64 // to learn each bit of FastHash
	rest  float64   // outside any bit
}

// learn trains on all rows, since other data measure the model.
func learn(ctx context.Context, p *Part, o hashgrove.Options) (*training, error) {
	made, err := hashgrove.Train(ctx, inside.NewData(p.Data).(*hashgrove.Data), o)
	if err != nil {
		return nil, err
	}
	t := &training{model: inside.Model(made.Model), rest: made.Report.Learning.Seconds()}
	if r := made.Report.FastHash; r != nil {
		for _, b := range r.Bits {
			took := (b.Inference + b.Boost).Seconds()
			t.bits, t.rest = append(t.bits, took), t.rest-took
		}
	}
	t.rest = max(0, t.rest)
	return t, nil
}

// seconds returns the time to train up to a number of bits. Methods that do not learn bit by bit take the time of all.
func (t *training) seconds(bits int) float64 {
	sum := t.rest
	for _, s := range t.bits[:min(bits, len(t.bits))] {
		sum += s
	}
	return sum
}

// seconds returns how long f takes.
func seconds(f func()) float64 {
	began := time.Now()
	f()
	return time.Since(began).Seconds()
}

// fastest runs f at least twice and for 20 ms, up to 20 times, and returns the seconds of the fastest run: the first
// run warms up, and others may be disturbed.
func fastest(f func()) float64 {
	best, sum := seconds(f), 0.0
	for turn := 0; turn < 20 && (turn == 0 || sum < 0.02); turn++ {
		took := seconds(f)
		best, sum = min(best, took), sum+took
	}
	return best
}

// protect runs f for a method and turns a panic into an error, so that hours of other methods' work are not lost.
func protect(method string, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			text, _, _ := strings.Cut(fmt.Sprint(p), "\n") // the rest is a stack
			err = message.New("internal-error", "internal error in method %s: %s", method, text)
		}
	}()
	return f()
}
