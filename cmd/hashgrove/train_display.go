package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"hashgrove"
	"hashgrove/internal/cli"
)

// trainDisplay shows the progress of training.
type trainDisplay struct {
	*app
	reading, bits *cli.Progress
}

// noteFlags names the flags that help with a note, by its code.
var noteFlags = map[string]string{
	"crowded-bins": "; or use --set bins=hybrid",
}

// show shows a step.
func (d *trainDisplay) show(p hashgrove.Progress) {
	if p.Rows > 0 {
		if d.reading == nil {
			d.reading = d.startProgress("reading", 0, 0)
		}
		d.reading.Tick(p.Rows)
		return
	}
	if n := p.Note; n != nil {
		d.end()
		text := n.Text + noteFlags[string(n.Code)]
		if n.Doubt {
			d.warn([]string{text})
		} else {
			d.note("%s", text)
		}
		return
	}
	b := p.Learned
	if d.bits == nil {
		d.end()
		d.bits = d.startProgress("bit", p.Bits, p.Bit-1)
		d.bits.BeganEarlier(b.Inference + b.Boost)
	}
	note := fmt.Sprintf("objective %.4f  error %.4f", b.Stat.Objective, b.Stat.TrainError)
	if b.Stat.HeldOut > 0 {
		note += fmt.Sprintf("  held-out error %.4f", b.Stat.HeldOutError)
	}
	d.bits.Step(p.Bit, note)
}

// end finishes the display.
func (d *trainDisplay) end() {
	for _, p := range []**cli.Progress{&d.reading, &d.bits} {
		if *p != nil {
			(*p).End()
			*p = nil
		}
	}
}

// bindPictureTraining adds the flags for turning pictures into vectors and for mirror images.
func bindPictureTraining(f *pflag.FlagSet, p *hashgrove.PictureOptions) {
	f.StringVar(&p.Features, "features", "", "turn pictures into these `FEATURES` first: gist320, gist512 or "+
		"pixels; the model keeps them")
	f.BoolVar(&p.Mirror, "mirror", false, "also learn from the mirror images of the pictures; with --features")
	f.BoolVar(&p.Average, "mirror-average", false, "make each code add the scores of a picture and its "+
		"mirror image; with --mirror")
}

// optionalNumber is a flag whose absence differs from 0.
type optionalNumber struct{ to **float64 }

// String implements pflag.Value.
func (n *optionalNumber) String() string {
	if n.to == nil || *n.to == nil {
		return ""
	}
	return strconv.FormatFloat(**n.to, 'g', -1, 64)
}

// Set implements pflag.Value.
func (n *optionalNumber) Set(text string) error {
	v, err := strconv.ParseFloat(text, 64)
	if err == nil {
		*n.to = &v
	}
	return err
}

// Type implements pflag.Value.
func (n *optionalNumber) Type() string { return "float64" }

// parseBytes parses a size: 800MB, 8GB, 1.5TB, or 512MiB, 8GiB in powers of 1024; a bare number is bytes.
func parseBytes(text string) (int64, error) {
	units := []struct {
		name  string
		bytes float64
	}{
		{"tib", 1 << 40}, {"gib", 1 << 30}, {"mib", 1 << 20}, {"kib", 1 << 10},
		{"tb", 1e12}, {"gb", 1e9}, {"mb", 1e6}, {"kb", 1e3},
		{"t", 1e12}, {"g", 1e9}, {"m", 1e6}, {"k", 1e3}, {"b", 1}, {"", 1},
	}
	lower := strings.ToLower(strings.TrimSpace(text))
	for _, u := range units {
		number, ok := strings.CutSuffix(lower, u.name)
		if !ok {
			continue
		}
		x, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err != nil || !(x > 0) || x*u.bytes > math.MaxInt64/2 {
			break
		}
		return int64(x * u.bytes), nil
	}
	return 0, errors.New("give a size such as 800MB, 8GB or 8GiB")
}
