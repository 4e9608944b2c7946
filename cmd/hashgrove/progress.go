package main

import (
	"fmt"
	"os"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// progress shows how far a long piece of work is and how long it will still take: a bar on a terminal, else a
// plain line now and then.
type progress struct {
	app   *app
	what  string
	total int
	first int // what was done before this run; it does not count for the time left
	began time.Time

	bars *mpb.Progress
	bar  *mpb.Bar
	text string

	said time.Time
}

// start begins to show work of the given number of steps; total 0 means that nobody knows.
func (a *app) start(what string, total, done int) *progress {
	p := &progress{app: a, what: what, total: total, first: done, began: time.Now()}
	p.said = p.began
	if a.quiet || total == 0 {
		return p
	}
	if f, ok := a.err.(*os.File); ok && isTerminal(f) {
		p.bars = mpb.New(mpb.WithOutput(f), mpb.WithWidth(40))
		p.bar = p.bars.AddBar(int64(total),
			mpb.PrependDecorators(decor.Name(what+" "), decor.CountersNoUnit("%d/%d ")),
			mpb.AppendDecorators(decor.Any(func(decor.Statistics) string { return p.text })))
		p.bar.SetCurrent(int64(done))
	}
	return p
}

// step tells that done steps are done; note is about the last of them. Every step prints a line where there is
// no terminal, so callers of many small steps use tick.
func (p *progress) step(done int, note string) {
	left := p.left(done)
	if p.bar != nil {
		p.text = fmt.Sprintf("%s  %s left", note, left)
		p.bar.SetCurrent(int64(done))
		return
	}
	p.app.note("%s %d/%d  %s  %s left", p.what, done, p.total, note, left)
}

// tick is step for many small steps: the bar moves ten times a second, and where there is no terminal there is a line
// every ten seconds.
func (p *progress) tick(done int) {
	pause := 10 * time.Second
	if p.bar != nil {
		pause = time.Second / 10
	}
	if time.Since(p.said) < pause {
		return
	}
	p.said = time.Now()
	if p.total == 0 {
		p.app.note("%s %d rows", p.what, done)
		return
	}
	p.step(done, "")
}

func (p *progress) left(done int) time.Duration {
	if done <= p.first {
		return 0
	}
	each := time.Since(p.began) / time.Duration(done-p.first)
	return (each * time.Duration(p.total-done)).Round(100 * time.Millisecond)
}

// end takes the bar away.
func (p *progress) end() {
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
