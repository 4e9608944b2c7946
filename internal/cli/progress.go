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

// Start shows a task of total steps; a total of 0 means unknown. A nil w shows nothing.
func Start(w io.Writer, what string, total int) *Progress {
	p := &Progress{w: w}
	p.Task(what, total, 0)
	return p
}

// Task goes on to another task, done of its steps finished already. It does nothing for the present one.
func (p *Progress) Task(what string, total, done int) {
	if what != p.what {
		p.End()
		now := time.Now()
		p.what, p.total, p.first, p.began, p.said = what, total, done, now, now
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
	if done > p.first {
		each := time.Since(p.began) / time.Duration(done-p.first)
		note += fmt.Sprintf("  %s left", (each * time.Duration(p.total-done)).Round(100*time.Millisecond))
	}
	if p.text = note; p.onTerminal() {
		p.bar.SetCurrent(int64(done))
		return
	}
	p.printf("%s %d/%d  %s", p.what, done, p.total, note)
}

// Tick is Step for many small steps: it updates the bar ten times a second, or prints a line every ten seconds
// without a terminal.
func (p *Progress) Tick(done int) {
	pause := 10 * time.Second
	if p.onTerminal() {
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

// Count is Tick for a task whose size is known only once it runs.
func (p *Progress) Count(done, total int) {
	p.total = total
	p.Tick(done)
}

// onTerminal makes the bar once the size of the task is known, and reports whether there is one.
func (p *Progress) onTerminal() bool {
	if f, ok := p.w.(*os.File); ok && p.bar == nil && p.total > 0 && isTerminal(f) {
		p.bars = mpb.New(mpb.WithOutput(f), mpb.WithWidth(40))
		p.bar = p.bars.AddBar(int64(p.total),
			mpb.PrependDecorators(decor.Name(p.what+" "), decor.CountersNoUnit("%d/%d ")),
			mpb.AppendDecorators(decor.Any(func(decor.Statistics) string { return p.text })))
	}
	return p.bar != nil
}

// End removes the bar.
func (p *Progress) End() {
	if p.bar != nil {
		p.bar.Abort(true)
		p.bars.Wait()
	}
	p.what, p.bar = "", nil
}

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 || os.Getenv("TERM") == "dumb" {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}
