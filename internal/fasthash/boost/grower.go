package boost

import (
	"context"
	"errors"

	"hashgrove/internal/vectors"
)

// Grower grows the trees of bits over the same columns. There are two: the cores of this machine (this package), and a
// device (package gpu). Everything that decides about a tree is a sum of integers, or arithmetic on single rows, or a
// sum in a fixed order, so both give the same trees to the last bit.
//
// A grower knows the rows, and how they weigh after each tree. The Trainer knows the ensemble: which trees it keeps,
// and when it has enough.
type Grower interface {
	// Begin starts a bit. The problem is valid until the next call.
	Begin(ctx context.Context, p *Problem) error

	// Round grows a tree from the rows as the earlier trees of the bit left them; q is 0, 1, 2 and so on. The result
	// is valid until the next call.
	Round(ctx context.Context, q int) (*Round, error)

	// Close releases what the grower holds.
	Close() error
}

// ErrNoDevice says that the device that was asked for is not there.
var ErrNoDevice = errors.New("cannot train on a GPU")

// Device makes growers that are not the cores of this machine.
type Device interface {
	// Start says that a bit will be learned from this many rows and columns, so that a device that takes time to start
	// can do so meanwhile.
	Start(rows, columns int)

	// Grower prepares to learn from columns. It returns nil if the cores should do it, which they also do after an error
	// that is not ErrNoDevice.
	Grower(ctx context.Context, x *vectors.Columns, o Options) (Grower, error)

	// Lost is called when a grower of the device has failed, and the cores go on in its place.
	Lost(err error)
}

// Problem is a bit to learn.
type Problem struct {
	Z    []uint64  // bit i is 1 where z_i = +1; past the last row all bits are 0
	U    []float64 // weights of the rows; their sum is the number of rows
	Seed uint64
	Bit  int
}

// stream returns the number of the random stream of a round.
func (p *Problem) stream(q int) uint64 { return uint64(p.Bit)<<32 | uint64(q)<<9 }

// Round is what a round leaves.
type Round struct {
	Feature []uint32 // of each split
	Bin     []uint8  // of each split

	// Of AdaBoost.
	Leaf         []uint64 // the sign of each leaf
	Right, Wrong float64  // V+ and V-

	// Of logistic boosting.
	Digits []uint8 // of each leaf: the multiple of the unit, 0 for the least
	Unit   int32   // 0: there was nothing to gain
}

// isSplit reports whether any node is split.
func (r *Round) isSplit() bool { return r.Bin[0] != noBin }
