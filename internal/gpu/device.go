// Package gpu trains on a GPU: it gives package boost a grower whose trees are those of the cores, to the last bit.
//
//	device.go    the device of a training: chosen, used, lost
//	grower.go    the grower, on the training's side
//	child.go     the process that holds the device, with a watchdog
//	frame/       what both sides say to each other
//	worker/      the other side, which answers, and the kernels
//	opencl/      the machine's OpenCL library, without cgo
package gpu

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"hashgrove/internal/fasthash/boost"
	"hashgrove/internal/message"
	"hashgrove/internal/vectors"
)

// AnyDevice is a variable of the environment: if it is set, a processor that has OpenCL will do for a GPU. It is slower
// than the cores themselves, and meant for tests.
const AnyDevice = "HASHGROVE_ANY_OPENCL"

// Program is the name of the program that holds the device.
const Program = "hashgrove-gpu"

// The choices of where to train.
const (
	Auto = "auto" // on a GPU, if there is one and enough to do
	CPU  = "cpu"  // on the cores
	GPU  = "gpu"  // on a GPU; an error if there is none
)

// muchData is the number of values, rows times columns, above which Auto takes a GPU: less is learned faster without.
const muchData = 4_000_000

// Device is the GPU of a training. The driver takes a second or two to start, while the training reads and prepares.
type Device struct {
	choice  string
	threads int
	note    func(string)
	open    func() (*child, error) // starts the program that holds the device, once, and waits for it
	cancel  func()                 // ends it

	mu    sync.Mutex
	notes []string // when the cores took over, and why
	used  bool
}

// New returns the device for a choice, or nil for CPU. With the choice GPU it starts at once; that there is none is an
// error of Grower and of Failed. The function is called when the cores take over; it may be nil.
func New(ctx context.Context, choice string, threads int, note func(string)) *Device {
	if choice == CPU {
		return nil
	}
	d := &Device{choice: cmp.Or(choice, Auto), threads: threads, note: note}
	ctx, d.cancel = context.WithCancel(ctx)
	d.open = sync.OnceValues(func() (*child, error) {
		c, err := start(ctx)
		if err != nil {
			err = message.With("no-gpu", fmt.Errorf("%w: %w", boost.ErrNoDevice, err))
		}
		return c, err
	})
	d.startIf(choice == GPU)
	return d
}

// startIf begins to start the program.
func (d *Device) startIf(worth bool) {
	if worth {
		go d.open()
	}
}

// Check reports an unknown choice.
func Check(choice string) error {
	if choice != "" && choice != Auto && choice != CPU && choice != GPU {
		return message.New("bad-flag-value", "there is no device %q: give %s, %s or %s", choice, Auto, CPU, GPU)
	}
	return nil
}

// Failed returns why there is no device, if one was asked for.
func (d *Device) Failed() error {
	if d == nil || d.choice != GPU {
		return nil
	}
	_, err := d.open()
	return err
}

// Name returns the name of the device if it was used, or "".
func (d *Device) Name() string {
	if d == nil {
		return ""
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.used {
		return ""
	}
	return d.name()
}

// name returns the name of the device, which has been opened.
func (d *Device) name() string {
	c, _ := d.open()
	return c.name
}

// Grower implements boost.Device. It returns nil if there is little to do, or the cores have to do it.
func (d *Device) Grower(ctx context.Context, x *vectors.Columns, o boost.Options) (boost.Grower, error) {
	if err := d.Failed(); err != nil {
		return nil, err
	}
	if !d.isWorth(x.Rows, x.Dim()) {
		return nil, nil
	}
	c, err := d.open()
	if err != nil {
		return nil, nil // as on a machine without a GPU
	}
	e, err := newGrower(ctx, c, x, o, d.threads)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	d.used = true
	d.mu.Unlock()
	return e, nil
}

// Start implements boost.Device.
func (d *Device) Start(rows, columns int) { d.startIf(d.isWorth(rows, columns)) }

// isWorth reports whether the device should learn from this many rows and columns, if there is one.
func (d *Device) isWorth(rows, columns int) bool { return d.choice != Auto || rows*columns >= muchData }

// Lost implements boost.Device. The same is noted once.
func (d *Device) Lost(err error) {
	text := fmt.Sprintf("the processor goes on in place of %s, which failed: %v", d.name(), err)
	d.mu.Lock()
	defer d.mu.Unlock()
	if slices.Contains(d.notes, text) {
		return
	}
	d.notes = append(d.notes, text)
	if d.note != nil {
		d.note(text)
	}
}

// Close ends the program that holds the device.
func (d *Device) Close() {
	d.cancel()
	if c, _ := d.open(); c != nil { // it does not start any more
		c.close()
	}
}
