package cli

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// Progress shows how far a long task is and the time remaining: as a bar on a terminal, else as an occasional line.
type Progress struct {
	w     io.Writer // nil means nothing is shown
	what  string
	total int
	first int // steps done before this run, ignored in the estimate of the time left
	began time.Time

	bars *mpb.Progress
	bar  *mpb.Bar
	text string

	said time.Time
}

// Start shows a task of total steps, done of them finished earlier; a total of 0 means unknown. A nil w shows
// nothing.
func Start(w io.Writer, what string, total, done int) *Progress {
	p := &Progress{w: w, what: what, total: total, first: done, began: time.Now()}
	p.said = p.began
	if f, ok := w.(*os.File); ok && total > 0 && isTerminal(f) {
		p.bars = mpb.New(mpb.WithOutput(f), mpb.WithWidth(40))
		p.bar = p.bars.AddBar(int64(total),
			mpb.PrependDecorators(decor.Name(what+" "), decor.CountersNoUnit("%d/%d ")),
			mpb.AppendDecorators(decor.Any(func(decor.Statistics) string { return p.text })))
		p.bar.SetCurrent(int64(done))
	}
	return p
}

// BeganEarlier adds time spent before Start.
func (p *Progress) BeganEarlier(d time.Duration) { p.began = p.began.Add(-d) }

// Counting shows a task whose size is known only once it runs; end removes the bar.
func Counting(w io.Writer, what string) (tick func(done, total int), end func()) {
	var p *Progress
	tick = func(done, total int) {
		if p == nil {
			p = Start(w, what, total, 0)
		}
		p.Tick(done)
	}
	return tick, func() {
		if p != nil {
			p.End()
			p = nil
		}
	}
}

func (p *Progress) printf(format string, args ...any) {
	if p.w != nil {
		fmt.Fprintf(p.w, format+"\n", args...)
	}
}

// Step reports that done steps are finished; note is about the last one. Without a terminal every step prints a
// line, so callers with many small steps use Tick.
func (p *Progress) Step(done int, note string) {
	left := p.left(done)
	if p.bar != nil {
		p.text = fmt.Sprintf("%s  %s left", note, left)
		p.bar.SetCurrent(int64(done))
		return
	}
	p.printf("%s %d/%d  %s  %s left", p.what, done, p.total, note, left)
}

// Tick is Step for many small steps: it updates the bar ten times a second, or prints a line every ten seconds
// without a terminal.
func (p *Progress) Tick(done int) {
	pause := 10 * time.Second
	if p.bar != nil {
		pause = time.Second / 10
	}
	if time.Since(p.said) < pause {
		return
	}
	p.said = time.Now()
	if p.total == 0 {
		p.printf("%s %d rows", p.what, done)
		return
	}
	p.Step(done, "")
}

func (p *Progress) left(done int) time.Duration {
	if done <= p.first {
		return 0
	}
	each := time.Since(p.began) / time.Duration(done-p.first)
	return (each * time.Duration(p.total-done)).Round(100 * time.Millisecond)
}

// End removes the bar.
func (p *Progress) End() {
	if p.bar != nil {
		p.bar.Abort(true)
		p.bars.Wait()
	}
}

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 || os.Getenv("TERM") == "dumb" {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}
