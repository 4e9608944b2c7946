//go:build (linux || darwin || windows) && (amd64 || arm64)

package worker

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"strconv"

	"hashgrove/internal/fasthash/boost"
	"hashgrove/internal/gpu/frame"
	"hashgrove/internal/gpu/opencl"
)

// session holds columns on the device and learns bits from them.
type session struct {
	q    *opencl.Queue
	plan *boost.Plan
	job  job

	all     []opencl.Buffer // to be freed
	failed  error           // of the first allocation that failed
	columns opencl.Buffer   // candidates: of all trees, of each tree or of each node
	x       opencl.Buffer   // all columns
	m       memory

	begin []*opencl.Kernel
	round []*opencl.Kernel
	ready int // rounds that are done
}

// How counting is cut.
const (
	tallies      = 16   // histograms in the local memory of a group
	leastStretch = 2048 // rows that are worth adding up, for each pair of nodes
	groupsPer    = 12   // groups wanted for each of the device's units
)

// compilerOptions are those of the compiler.
func compilerOptions(d opencl.Device) string {
	return fmt.Sprintf("-D TALLIES=%d -D ANSWERERS=%d", tallies, answerers(d))
}

// answerers is the number of work-items in a group of the kernel answers.
func answerers(d opencl.Device) int {
	if d.Group < mostItems {
		return items
	}
	return mostItems
}

// padded rounds up to a multiple, a power of 2.
func padded(n, to int) int { return (n + to - 1) &^ (to - 1) }

func flag(b bool) int32 {
	if b {
		return 1
	}
	return 0
}

// open allocates all memory and prepares the kernels.
func (s *session) open() error {
	p := s.plan
	stride := padded(p.Rows, 128)
	s.job = job{
		scale: p.Scale, room: p.Room, swelled: p.Swelled, trim: p.Trim, rowLimit: p.RowLimit, ridge: p.Ridge, rate: p.Rate,
		n: int32(p.Rows), k: int32(p.Candidates), depth: int32(p.Depth), splits: int32(p.Splits), least: int32(p.Least),
		most: int32(p.Most), topMargin: int32(p.TopMargin), topLeaf: int32(p.TopLeaf), rowBits: int32(p.RowBits),
		isLogistic: flag(p.IsLogistic), isLazy: flag(p.IsLazy), isTrimmed: flag(p.IsTrimmed), hasShare: flag(p.HasShare),
		isCoarse: flag(p.IsCoarse), isDrawn: flag(p.IsDrawn), stride: int32(stride),
	}
	if err := s.allocate(stride); err != nil {
		return err
	}
	if s.failed != nil {
		return s.failed
	}
	var usable []uint32
	if p.Drawn == 0 {
		usable = p.Usable
	}
	var chances []float32
	if p.IsLogistic {
		chances = boost.Chances()
	}
	return cmp.Or(opencl.Write(s.q, s.columns, 0, usable), opencl.Write(s.q, s.m.chance, 0, chances),
		opencl.Write(s.q, s.m.job, 0, []job{s.job}), s.prepare())
}

// alloc allocates memory, unless something has failed before.
func (s *session) alloc(bytes int64) opencl.Buffer {
	if s.failed != nil {
		return opencl.Buffer{}
	}
	b, err := s.q.Alloc(bytes)
	if err != nil {
		s.failed = fmt.Errorf("%d MB of the device's memory: %w", bytes>>20, err)
		return b
	}
	s.all = append(s.all, b)
	return b
}

// allocate allocates all memory but that of the ensemble: first what grows with the rows alone, then columns in what is
// left of it.
func (s *session) allocate(stride int) error {
	p := s.plan
	n, rounds := int64(padded(p.Rows, blockRows)), int64(p.Rounds)
	levels := int64(p.Splits)
	across := int64(p.Candidates+width-1) / width
	drawn := int64(p.Candidates)
	if p.Drawn > 0 {
		drawn = rounds * int64(p.Drawn)
	}
	s.columns = s.alloc(4 * drawn)
	one := func(wanted bool, bytes int64) opencl.Buffer {
		if !wanted {
			bytes = 16
		}
		return s.alloc(bytes)
	}
	s.m = memory{
		job: s.alloc(256), state: s.alloc(256), tree: s.alloc(4 * treeWords), z: s.alloc(n / 8), u: s.alloc(8 * n),
		score: one(p.IsLogistic, 4*n), leaf: one(p.IsLogistic, n), said: s.alloc(n / 8),
		mass: s.alloc(4 * n), signedMass: s.alloc(4 * n), node: [2]opencl.Buffer{s.alloc(n), s.alloc(n)},
		chance:     one(p.IsLogistic, 4*int64(2*p.TopMargin+1)),
		magnitudes: s.alloc(4 * magnitudes), list: one(p.IsTrimmed, 8*n), keys: s.alloc(8 * rounds),
		histograms: s.alloc(levels * int64(p.Candidates) * histBins * 4), gains: s.alloc(4 * levels * across),
		bests: s.alloc(4 * levels * across), sums: s.alloc(16 * n / blockRows),
		features: s.alloc(4 * rounds * levels), bins: s.alloc(rounds * levels),
		leaves: s.alloc(4 * rounds * frame.Nodes / 32), digits: s.alloc(rounds * frame.Nodes), units: s.alloc(4 * rounds),
		results: s.alloc(16 * rounds),
	}
	room := s.q.Device.Memory / 10 * 9 // the driver and the screen take some
	for _, b := range s.all {
		room -= b.Bytes
	}
	columns := int64(stride) * int64(p.Columns)
	if columns > min(room, columnBytes(s.q.Device)) {
		return fmt.Errorf("columns of %d MB do not fit the device's memory", columns>>20)
	}
	s.x = s.alloc(columns)
	return nil
}

// ColumnBytes is a variable of the environment: how many bytes of the device's memory columns may take.
const ColumnBytes = "HASHGROVE_GPU_COLUMN_BYTES"

// columnBytes returns how much of a device's memory columns may take.
func columnBytes(d opencl.Device) int64 {
	if asked, err := strconv.ParseInt(os.Getenv(ColumnBytes), 10, 64); err == nil && asked > 0 {
		return min(asked, d.Buffer)
	}
	return d.Buffer
}

// groups returns the number of groups of kernels that go over all rows.
func (s *session) groups() int {
	return min(max((s.plan.Rows+items-1)/items, 1), 8*s.q.Device.Units)
}

// write copies columns to the device, from the first on.
func (s *session) write(first int, columns [][]byte) error {
	p, stride := s.plan, int(s.job.stride)
	if first < 0 || first+len(columns) > p.Columns {
		return fmt.Errorf("columns %d to %d of %d", first, first+len(columns), p.Columns)
	}
	all := make([]byte, len(columns)*stride)
	for k, column := range columns {
		copy(all[k*stride:][:p.Rows], column)
	}
	return opencl.Write(s.q, s.x, int64(first)*int64(stride), all)
}

// prepare makes the kernels of a round, in their order, with their arguments.
func (s *session) prepare() error {
	var err error
	sized := func(name string, groups, items int, args ...any) *opencl.Kernel {
		if err != nil {
			return nil
		}
		var k *opencl.Kernel
		k, err = s.q.Kernel(name, groups, items, args...)
		return k
	}
	kernel := func(name string, groups int, args ...any) *opencl.Kernel { return sized(name, groups, items, args...) }
	p, m, all := s.plan, &s.m, s.groups()
	weigh := kernel("weigh", all, m.job, m.state, m.tree, m.z, m.u, m.score, m.leaf, m.chance, m.said, m.mass,
		m.magnitudes, m.sums, m.results, m.units, m.digits)
	s.begin = []*opencl.Kernel{weigh}
	if p.IsTrimmed {
		s.round = append(s.round, kernel("gather", all, m.job, m.state, m.mass, m.magnitudes, m.list))
	}
	s.round = append(s.round, kernel("find", 1, m.job, m.state, m.tree, m.list),
		kernel("place", all, m.job, m.state, m.tree, m.z, m.mass, m.keys, m.signedMass, m.node[0], m.magnitudes,
			m.histograms))
	across := (p.Candidates + width - 1) / width
	for depth := range p.Depth {
		passes := 1 << depth
		if depth > 0 && !p.IsLazy {
			passes /= 2
		}
		at, node := int32(depth), m.node[depth%2]
		if p.Candidates > 0 {
			c := s.counting(passes)
			s.round = append(s.round,
				kernel("count", c.groups, m.job, m.state, m.tree, s.x, s.columns, m.signedMass, node,
					m.histograms, at, int32(c.passes), int32(c.width), int32(c.stretch)),
				kernel("split", across*passes, m.job, m.tree, m.histograms, m.gains, m.bests, at))
		}
		s.round = append(s.round, kernel("move", all, m.job, m.state, m.tree, s.x, s.columns, m.signedMass, node,
			m.node[1-depth%2], m.histograms, m.gains, m.bests, at))
	}
	if p.IsLogistic {
		s.round = append(s.round, kernel("slopes", all, m.job, m.state, m.tree, s.x, m.z, m.u, m.score, m.chance,
			m.mass, m.leaf, m.features, m.bins))
	} else {
		s.round = append(s.round, sized("answers", (p.Rows+blockRows-1)/blockRows, answerers(s.q.Device), m.job, m.state,
			m.tree, s.x, m.z, m.u, m.said, m.sums, m.features, m.bins, m.leaves))
	}
	s.round = append(s.round, weigh)
	return err
}

// counting says how the work of count is cut: passes and columns of a group, rows of a stretch, and groups in all.
type counting struct{ passes, width, stretch, groups int }

// counting cuts the counting of a level so that the device has enough groups, and each enough rows to be worth adding
// up.
func (s *session) counting(passes int) counting {
	p, rows := s.plan, s.plan.Rows
	c := counting{passes: min(passes, tallies)}
	if p.IsLazy {
		c.passes = 1 // every node has other columns
	}
	c.width = min(tallies/c.passes, p.Candidates)
	apart := (p.Candidates + c.width - 1) / c.width * ((passes + c.passes - 1) / c.passes)
	wanted := max(1, groupsPer*s.q.Device.Units/apart)
	c.stretch = padded(max((rows+wanted-1)/wanted, leastStretch*c.passes), 4*items)
	c.groups = apart * ((rows + c.stretch - 1) / c.stretch)
	return c
}

// start starts a bit: signs, weights, keys and columns of all rounds.
func (s *session) start(data [][]byte) error {
	m := &s.m
	if len(data) != 4 {
		return fmt.Errorf("%d arrays of a problem", len(data))
	}
	for i, to := range []opencl.Buffer{m.z, m.u, m.keys, s.columns} {
		if err := opencl.Write(s.q, to, 0, data[i]); err != nil {
			return err
		}
	}
	err := cmp.Or(
		s.q.Copy(m.said, m.z, int64(len(data[0]))), s.q.Fill(m.node[0], math.MaxUint8), s.q.Fill(m.node[1], math.MaxUint8),
		s.q.Fill(m.signedMass, 0), s.q.Fill(m.score, 0), s.q.Fill(m.leaf, 0), s.q.Fill(m.tree, 0),
		s.q.Fill(m.magnitudes, 0), opencl.Write(s.q, m.state, 0, []state{{round: -1}}),
	)
	if err != nil {
		return err
	}
	s.ready = 0
	return runAll(s.begin)
}

func runAll(kernels []*opencl.Kernel) error {
	for _, k := range kernels {
		if err := k.Run(); err != nil {
			return err
		}
	}
	return nil
}

// free releases the memory.
func (s *session) free() {
	for _, b := range s.all {
		b.Free()
	}
	s.all = nil
}
