//go:build linux && amd64

package main

import (
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"hashgrove/internal/dataset"
	"hashgrove/internal/section"
	"hashgrove/internal/testkit/disktest"
	"hashgrove/internal/testkit/needs"
)

// The commands on a disk that fails and forgets: see package disktest. They run as real processes on small data. Whatever
// happens, each leaves the old state or the new one, whole; once it has said that it is done, the new one. After that
// the same command, run again, has to get from the old state to the new one, whatever temporary files lie about.
//
// A plain run takes a sample of all moments and faults, by a seed that is printed (HASHGROVE_SEED repeats it). With
// HASHGROVE_LONG=1 none is left out.

// bench is where a test puts its files.
type bench struct {
	t       *testing.T
	folder  string // for all
	in      string
	seed    uint64
	long    bool
	ops     int
	images  int
	cuts    int
	faults  int
	folders int
}

func newBench(t *testing.T) *bench {
	folder, err := os.MkdirTemp("/dev/shm", "hashgrove") // syncs cost nothing there
	if err != nil {
		folder = t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	seed := rand.Uint64()
	if s := os.Getenv("HASHGROVE_SEED"); s != "" {
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("HASHGROVE_SEED=%d repeats this sample", seed)
	b := &bench{t: t, folder: folder, in: filepath.Join(folder, "in"), seed: seed}
	b.long = os.Getenv("HASHGROVE_LONG") == "1"
	if err := os.Mkdir(b.in, 0o777); err != nil {
		t.Fatal(err)
	}
	inputs(t, b.in)
	if _, err := disktest.Follow(command("version"), folder, nil); errors.Is(err, disktest.ErrNotPermitted) {
		needs.Skip(t, needs.Ptrace, err)
	}
	return b
}

// enter goes to a new folder that holds a tree.
func (b *bench) enter(tree disktest.Tree) string {
	b.folders++
	folder := filepath.Join(b.folder, fmt.Sprint(b.folders))
	if err := errors.Join(os.Mkdir(folder, 0o777), tree.WriteTo(folder), os.Chdir(folder)); err != nil {
		b.t.Fatal(err)
	}
	return folder
}

// leave removes the folder that was entered.
func (b *bench) leave(folder string) {
	if err := errors.Join(os.Chdir(b.folder), os.RemoveAll(folder)); err != nil {
		b.t.Fatal(err)
	}
}

// trial is a command with the states before and after it.
type trial struct {
	*bench
	t        *testing.T
	command  *fileCommand
	rng      *rand.Rand
	before   disktest.Tree
	after    disktest.Tree
	disk     *disktest.Disk // of what was there before
	ops      []disktest.Op
	old, new string
	judged   map[[32]byte]string
}

// follow does the command as a process that is watched, in a new folder that it enters.
func (b *bench) follow(t *testing.T, d *fileCommand, before disktest.Tree, plan *disktest.Plan) (
	folder string, disk *disktest.Disk, run *disktest.Run,
) {
	folder = b.enter(before)
	disk, err := disktest.NewDisk(folder)
	if err != nil {
		t.Fatal(err)
	}
	if run, err = disktest.Follow(d.process(), folder, plan); err != nil {
		t.Fatal(err)
	}
	return folder, disk, run
}

// newTrial runs a command undisturbed.
func (b *bench) newTrial(t *testing.T, d *fileCommand) *trial {
	r := &trial{bench: b, t: t, command: d, judged: map[[32]byte]string{}}
	r.rng = rand.New(rand.NewPCG(b.seed, uint64(crc32.ChecksumIEEE([]byte(d.name)))))
	folder := b.enter(nil)
	var err error
	if d.old != nil {
		d.old(t)
	}
	if r.before, err = disktest.ReadTree(folder); err != nil {
		t.Fatal(err)
	}
	r.old = r.state("before")
	b.leave(folder)
	folder, disk, run := b.follow(t, d, r.before, nil)
	if (run.Status != 0) != d.refused {
		t.Fatalf("status %d: %s", run.Status, run.Output)
	}
	if r.after, err = disktest.ReadTree(folder); err != nil {
		t.Fatal(err)
	}
	r.new, r.disk, r.ops = r.state("after"), disk, run.Ops
	b.leave(folder)
	if (r.old == r.new) != d.refused {
		t.Fatal("nothing has changed, or something has that must not")
	}
	for _, o := range r.ops {
		if o.Kind != disktest.Said {
			b.ops++
		}
	}
	return r
}

// state is what is in the present folder.
func (r *trial) state(when string) string {
	s, err := r.command.read()
	if err != nil {
		r.t.Fatalf("%s: what is there is not whole: %v", when, err)
	}
	if r.new != "" && s != r.old && s != r.new && (s != r.command.between || s == "") {
		r.t.Fatalf("%s: what is there is neither old nor new: %.300q", when, s)
	}
	return s
}

// judge checks a tree that is left, and that the command can be done again.
func (r *trial) judge(tree disktest.Tree, done bool, when string) {
	sum := tree.Sum()
	state, known := r.judged[sum]
	if !known {
		folder := r.enter(tree)
		state = r.state(when)
		r.judged[sum] = state
		r.images++
		r.again(state, when)
		r.leave(folder)
	}
	if done && state != r.new {
		r.t.Fatalf("%s: it was reported as done, and the old state is back", when)
	}
}

// again does the command once more in the present folder, undisturbed.
func (r *trial) again(state, when string) {
	if r.command.refused {
		return
	}
	// One that is done may be refused: the output exists.
	if err := r.command.here(r.t); err != nil && state != r.new {
		r.t.Fatalf("%s: it cannot be done any more: %v", when, err)
	}
	if r.state(when+", then again") != r.new {
		r.t.Fatalf("%s: doing it again had no effect", when)
	}
	outputs := []string{"items.hgi", "copy.hgi", "m.hgm", "codes.hgc", "all.jsonl", "trees.c", "r.html"}
	for _, name := range append(outputs, dataset.NpyFiles("v.npy")...) {
		section.Sweep(name, 0)
	}
	left, err := disktest.ReadTree(".")
	if err != nil {
		r.t.Fatal(err)
	}
	for name := range left {
		if strings.HasSuffix(name, ".tmp") || state != r.new && strings.Contains(name, ".ckpt") {
			r.t.Fatalf("%s: nobody removes %s", when, name)
		}
	}
}

// said tells whether a result was printed.
func said(ops []disktest.Op) bool {
	return slices.ContainsFunc(ops, func(o disktest.Op) bool { return o.Kind == disktest.Said && o.At == 1 })
}

// TestPowerCutInCommands cuts the power after every operation of every command.
func TestPowerCutInCommands(t *testing.T) {
	b := newBench(t)
	for _, d := range fileCommands(t, b.in) {
		if !d.refused {
			t.Run(d.name, func(t *testing.T) { b.cut(b.newTrial(t, d)) })
		}
	}
	t.Logf("count: file operations %d", b.ops)
	t.Logf("count: power cuts %d", b.cuts)
	t.Logf("count: images after power cuts %d", b.images)
}

// cut cuts the power after every operation, in several ways.
func (b *bench) cut(r *trial) {
	tries := 2
	if b.long {
		tries = 40
	}
	cuts := map[string]disktest.Cut{
		"what was synced": disktest.Synced, "everything": disktest.Everything,
		"all names": disktest.NamesFirst, "all data": disktest.DataFirst,
	}
	for i, o := range r.ops {
		if err := r.disk.Apply(o, i); err != nil {
			r.t.Fatal(err)
		}
		if !o.Changes() {
			continue
		}
		done := said(r.ops[:i+1])
		check := func(kept string, c disktest.Cut) {
			b.cuts++
			tree := r.disk.After(c)
			when := fmt.Sprintf("cut after %v, with %s on disk", o, kept)
			r.judge(tree, done, when)
			if r.command.also != nil {
				r.command.also(r.ops[:i+1], tree)
			}
		}
		for _, kept := range slices.Sorted(maps.Keys(cuts)) {
			check(kept, cuts[kept])
		}
		for range tries {
			check("a part", disktest.RandomCut(r.rng))
		}
	}
	if d := r.disk.After(disktest.Everything).Differences(r.after); len(d) > 0 {
		r.t.Fatalf("the record leads to other files than the disk has: %v", d)
	}
	if !said(r.ops) {
		r.t.Fatal("nothing was reported")
	}
}

// TestFaultsInCommands lets operations of every command fail, one or two in a run, or all from one on.
func TestFaultsInCommands(t *testing.T) {
	b := newBench(t)
	for _, d := range fileCommands(t, b.in) {
		t.Run(d.name, func(t *testing.T) {
			r, before := b.newTrial(t, d), b.faults
			for _, p := range b.plans(r) {
				b.fail(r, p)
			}
			if b.faults == before {
				t.Fatal("no fault befell it")
			}
		})
	}
	t.Logf("count: file operations %d", b.ops)
	t.Logf("count: faults injected %d", b.faults)
	t.Logf("count: power cuts %d", b.cuts)
	t.Logf("count: images after power cuts %d", b.images)
}

// plans are the faults of a command, or a sample of them where there are many: two that fail a change of files for every
// one that fails a look at them. Some have a second fault, in what the command does after the first.
func (b *bench) plans(r *trial) []disktest.Plan {
	var changes, others []disktest.Plan
	for _, o := range r.ops {
		for _, f := range o.Faults() {
			if p := disktest.PlanFor(o, f); o.Changes() {
				changes = append(changes, p)
			} else {
				others = append(others, p)
			}
		}
	}
	all := slices.Concat(changes, others)
	pair := func() disktest.Plan {
		first, second := all[r.rng.IntN(len(all))], all[r.rng.IntN(len(all))]
		second.Path, second.Nth = "", 1+r.rng.IntN(3) // where a command cleans up, or goes on
		first.Then = &second
		return first
	}
	if b.long || len(all) <= 30 {
		for range len(all) / 3 {
			all = append(all, pair())
		}
		return all
	}
	sample := 2
	if testing.Short() {
		sample = 1
	}
	r.rng.Shuffle(len(changes), func(i, j int) { changes[i], changes[j] = changes[j], changes[i] })
	r.rng.Shuffle(len(others), func(i, j int) { others[i], others[j] = others[j], others[i] })
	return append(append(changes[:min(len(changes), 2*sample)], others[:min(len(others), sample)]...), pair())
}

// fail lets an operation fail.
func (b *bench) fail(r *trial, p disktest.Plan) {
	t := r.t
	folder, disk, run := b.follow(t, r.command, r.before, &p)
	defer b.leave(folder)
	if len(run.Injected) == 0 {
		return // this run came to its end earlier
	}
	b.faults++
	when := fmt.Sprintf("%s of %v", p.Fault, run.Injected[0])
	if p.Then != nil && len(run.Injected) > 1 {
		b.faults++
		when += fmt.Sprintf(" and %s of %v", p.Then.Fault, run.Injected[1])
	}
	switch {
	case run.Status > 2 || run.Status == 2 && !r.command.refused || strings.Contains(run.Output, "panic:") || strings.Contains(run.Output, "goroutine "):
		t.Fatalf("%s: status %d: %s", when, run.Status, run.Output)
	case run.Status == 0 && r.command.refused:
		t.Fatalf("%s: it was not refused", when)
	case run.Status == 1 && strings.TrimSpace(run.Output) == "":
		t.Fatalf("%s: it failed and said nothing", when)
	}
	done := run.Status == 0 || said(run.Ops)
	var trees []disktest.Tree // to be judged when the folder is no longer needed
	var promised []bool
	for i, o := range run.Ops {
		if err := disk.Apply(o, i); err != nil {
			t.Fatal(err)
		}
		if b.long && o.Number >= run.Injected[0].Number && o.Changes() { // a cut while it is cleaning up
			for _, c := range []disktest.Cut{disktest.Synced, disktest.RandomCut(r.rng)} {
				trees = append(trees, disk.After(c))
				promised = append(promised, said(run.Ops[:i+1]))
			}
		}
	}
	there, err := disktest.ReadTree(folder)
	if err != nil {
		t.Fatal(err)
	}
	if d := disk.After(disktest.Everything).Differences(there); len(d) > 0 && !lostData(run) {
		t.Fatalf("%s: the record leads to other files than the disk has: %v", when, d)
	}
	for name := range there {
		if info, err := os.Stat(name); err != nil || r.command.private && info.Mode().Perm()&0o077 != 0 {
			t.Fatalf("%s: others may read %s: %v, %v", when, name, info.Mode(), err)
		}
	}
	state := r.state(when)
	if done && state != r.new {
		t.Fatalf("%s: it was reported as done, and the state is the old one: %s", when, run.Output)
	}
	r.again(state, when)
	r.judge(disk.After(disktest.Synced), done, when+", then a power cut")
	for i, tree := range trees {
		r.judge(tree, promised[i], when+", then a power cut before the end")
		b.cuts++
	}
	b.cuts++
}

// lostData tells whether a sync has failed, after which the disk need not have what the files have.
func lostData(run *disktest.Run) bool {
	return slices.ContainsFunc(run.Injected, func(o disktest.Op) bool { return o.Kind == disktest.Sync && o.Err == syscall.EIO })
}
