package hashgrove

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"hashgrove/internal/dataset"
	"hashgrove/internal/fasthash"
	"hashgrove/internal/gpu"
	"hashgrove/internal/message"
	"hashgrove/internal/method"
	"hashgrove/internal/model"
	"hashgrove/internal/picture"
	"hashgrove/internal/picture/feature"
	"hashgrove/internal/supervision"
	"hashgrove/internal/vectors"
)

// run is the state of one training:
//
//	source -> vectors of pictures -> one scan, kept -> what is held out, where rows lie ->
//	package method -> the model with what it remembers
//
// The source is read once: its rows are kept in memory or, if they are many, in a temporary file.
type run struct {
	o         Options
	m         method.Options
	data      *supervision.Data
	schema    vectors.Schema
	extractor feature.Extractor // for pictures; nil means none
	kept      *vectors.Cached   // nil if the rows were in memory already
	spill     *vectors.Spill    // nil without a memory limit
	device    *gpu.Device       // nil: the cores
	report    Report
}

// Train learns a model from the data. The same data, options and seed give the same model, byte for byte, whether
// trained here, by the command or in a comparison. Files are read once.
func Train(ctx context.Context, d *Data, o Options) (_ *Training, err error) {
	began := time.Now()
	if err := cmp.Or(o.Check(), d.Err()); err != nil {
		return nil, err
	}
	r := &run{o: o}
	if r.m, err = o.resolve(); err != nil {
		return nil, err
	}
	r.report = Report{Method: o.name(), Title: o.name(), Bits: r.m.Bits, Seed: r.m.Seed}
	if about, ok := method.Describe(o.name()); ok {
		r.report.Title = about.Title
	}
	lost := func(text string) { r.note("device-lost", "%s", text) }
	if r.device = gpu.New(ctx, o.Device, o.Threads, lost); r.device != nil {
		defer r.device.Close()
		r.m.FastHash.Device = r.device
	}
	if o.Memory > 0 {
		r.spill = vectors.NewSpill(r.folder())
	}
	defer func() { err = cmp.Or(err, r.release()) }()
	if err := r.read(ctx, d); err != nil {
		return nil, err
	}
	if err := r.choose(); err != nil {
		return nil, err
	}
	m, err := r.learn(ctx)
	if err = cmp.Or(err, r.device.Failed()); err != nil { // also where nothing needed the device
		return nil, err
	}
	r.remember(m)
	if r.report.Memory != nil && r.report.Memory.Mapped {
		r.report.Memory.InMemory, r.report.Memory.Files = r.spill.Sizes()
	}
	r.report.NewItems, r.report.LearnedItems = figuresOf(m.Info.NewItems), figuresOf(m.Info.LearnedItems)
	r.report.Total = time.Since(began)
	return &Training{&Model{m}, r.report, o.Checkpoint.Folder}, nil
}

// emit reports a step.
func (r *run) emit(p Progress) {
	if r.o.Progress != nil {
		r.o.Progress(p)
	}
}

// note records and reports a choice.
func (r *run) note(code message.Code, format string, args ...any) {
	r.addNote(Note{Code: string(code), Text: fmt.Sprintf(format, args...)})
}

func (r *run) addNote(n Note) {
	r.report.Notes = append(r.report.Notes, n)
	r.emit(Progress{Note: &n})
}

// manyCopies: up to one in this many rows may be a copy of another, which moves no figure that anybody sees.
const manyCopies = 100

// noteCopies casts doubt on the figures for new items if rows occur more than once: where one of them is learned and
// another held out, it is not new.
func (r *run) noteCopies() {
	if r.m.Validation == 0 {
		return
	}
	// Of very many rows those with some hashes stand for all, so that the memory for them is bounded.
	every := uint64(1 + r.data.Rows/(1<<20))
	known, n := map[uint64]bool{}, 0
	for _, h := range r.data.Hashes {
		if h%every != 0 {
			continue
		}
		if known[h] {
			n++
		}
		known[h] = true
	}
	n *= int(every)
	if n > 0 && n*manyCopies >= r.data.Rows {
		about := ""
		if every > 1 {
			about = "about "
		}
		r.addNote(Note{"copies", fmt.Sprintf("%s%d of the %d rows are copies of other rows: held out while the other is "+
			"learned from, they make the figures for new items look better", about, n, r.data.Rows), true})
	}
}

// read turns pictures into vectors, reads all rows once, and settles the supervision.
func (r *run) read(ctx context.Context, d *Data) error {
	paired := d.pairs != nil || d.pairsFile != ""
	if len(r.o.HoldOut) > 0 && paired {
		return wrong("needs-classes", "%s needs classes, not %s", option("hold-out"), option("pairs"))
	}
	rows, missing, err := d.learnable(r.o)
	if err != nil {
		return err
	}
	if r.report.Columns = usedColumns(rows); len(r.report.Columns.Vector) > 0 {
		r.emit(Progress{Columns: &r.report.Columns, Dim: rows.Dim()})
	}
	src, err := r.vectors(rows, paired)
	if err != nil {
		return err
	}
	r.schema = src.Schema()
	if scanned, ok := src.(*supervision.Data); ok {
		own := *scanned
		r.data = &own
	} else if r.data, err = r.scan(ctx, src, missing); err != nil {
		return err
	}
	r.report.Rows = r.data.Rows
	if r.o.MinShared != 0 {
		r.data.MinShared = r.o.MinShared
	}
	if paired {
		if err := r.readPairs(d); err != nil {
			return err
		}
	}
	for _, text := range r.data.Warnings {
		r.addNote(Note{"data", text, true})
	}
	if len(r.o.HoldOut) > 0 && r.data.Labels == nil {
		return wrong("needs-classes", "%s needs classes", option("hold-out"))
	}
	return nil
}

// scan reads the source and keeps its rows, unless they are in memory already.
func (r *run) scan(ctx context.Context, src vectors.Source, missing bool) (*supervision.Data, error) {
	switch src.(type) {
	case vectors.Table, vectors.Matrix:
	default:
		limit, folder := vectors.TrainBytes(), ""
		if r.o.Memory > 0 {
			limit, folder = r.o.Memory/8, r.folder()
		}
		r.kept = vectors.Cache(src, limit, folder)
		src = r.kept
	}
	return supervision.Scan(ctx, src, supervision.ScanOptions{
		Digest: true, Hashes: true, Missing: missing, Spill: r.spill,
		Progress: func(rows int) { r.emit(Progress{Rows: rows}) },
	})
}

// readPairs makes pairs the supervision.
func (r *run) readPairs(d *Data) error {
	if r.data.Labels != nil || r.data.Tags != nil {
		r.note("pairs-alone", "similarity comes from %s alone: labels and tags are not learned from",
			cmp.Or(d.pairsFile, "the pairs"))
	}
	if d.pairsFile != "" {
		return dataset.ReadPairs(d.pairsFile, r.data)
	}
	return r.data.SetPairs(pairsOf(d.pairs))
}

// vectors returns what to learn from: the rows themselves, or the features of pictures followed by those of their
// mirror images.
func (r *run) vectors(rows vectors.Source, paired bool) (vectors.Source, error) {
	p := r.o.Pictures
	pictures, ok := picture.Of(rows)
	switch {
	case p.Features == "" && !ok && r.o.Grow.inner() != nil:
		return r.o.Grow.model.Source(rows, r.o.Threads) // in the order of its columns
	case p.Features == "":
		return rows, nil
	case !ok:
		return nil, wrong("needs-pictures", "%s needs pictures: folders, tars, CIFAR or IDX files", option("features"))
	case p.Mirror && paired:
		return nil, wrong("conflicting-flags", "%s and %s cannot be combined: pairs say nothing about mirror images",
			option("mirror"), option("pairs"))
	case p.Mirror:
		pictures = picture.Mirrored(pictures)
	}
	var err error
	if r.extractor, err = feature.Named(p.Features, pictures.Preparation().Shape); err != nil {
		return nil, fmt.Errorf("features: %w", err)
	}
	src, err := feature.Vectors(r.extractor, pictures, r.o.Threads)
	if err != nil {
		return nil, fmt.Errorf("features: %w", err)
	}
	return src, nil
}

// learn runs the method.
func (r *run) learn(ctx context.Context) (*model.Model, error) {
	r.noteStart()
	report := &fasthash.Report{Rows: r.data.Rows}
	o := r.o
	r.m.Run = fasthash.Run{
		Checkpoint: o.Checkpoint.Folder, Resume: o.Checkpoint.Resume, Restart: o.Checkpoint.Restart, Features: r.extractor,
		Grow: o.Grow.inner(), Spill: r.m.Run.Spill, Report: report,
		Progress: func(b fasthash.Bit) {
			learned := learnedBit(b)
			r.emit(Progress{Bit: b.Bit, Bits: r.m.Bits, Learned: &learned})
		},
	}
	r.m.Doubt = func(text string) { r.addNote(Note{"method", text, true}) }
	began := time.Now()
	m, err := method.Train(ctx, o.name(), r.data, r.m)
	r.report.Learning = time.Since(began)
	if err != nil {
		return nil, r.needsMemory(err)
	}
	if o.isFastHash() {
		r.report.FastHash = fastHashReport(report, m.Info)
	}
	r.report.Scale = m.Info.Scale
	r.report.LearnedRows = m.Info.Runs[len(m.Info.Runs)-1].Rows
	if r.report.Device = r.device.Name(); r.report.Device != "" {
		r.note("device", "trees were grown on %s, and the processor did the rest", r.report.Device)
	}
	r.noteEnd(m, report)
	return m, nil
}

// noteStart reports what will be learned from what.
func (r *run) noteStart() {
	s, n := r.m.FastHash.Similar, r.data.Rows
	pictures, what := n/s.PerPicture(), fmt.Sprintf("%d rows", n)
	if s.Mirrored {
		what = fmt.Sprintf("%s and %s", message.Count(pictures, "picture", "pictures"),
			message.Count(pictures, "mirror image", "mirror images"))
	}
	aside := ""
	if share := r.m.Validation; share > 0 {
		aside = fmt.Sprintf(", %.3g %% of them held out", 100*share)
	}
	r.note("learning", "learning %d bits with %s from %s of %d dimensions%s", r.m.Bits, r.report.Title,
		what, r.data.Dim(), aside)
}

// noteEnd reports damaged and resumed bits, and why held-out rows give no figures.
func (r *run) noteEnd(m *model.Model, made *fasthash.Report) {
	if made.Dropped > 0 {
		r.note("damaged-bits", "%d bits of the checkpoint were damaged and were learned again", made.Dropped)
	}
	if made.Resumed > 0 {
		r.note("resumed", "%d bits came from the checkpoint", made.Resumed)
	}
	if n := len(made.Unseen); n > 0 {
		r.addNote(Note{"unseen-tags", fmt.Sprintf("%s not learned from, because the vectors do not show which rows have "+
			"them: %s", message.Count(n, "tag was", "tags were"), message.List(made.Unseen)), true})
	}
	if f := m.Info.NewItems; f != nil {
		r.doubtCodes(m, f)
	}
	switch {
	case r.m.Validation == 0 || m.Info.NewItems != nil || r.data.Kind() == supervision.ByPairs:
	case r.m.Run.Grow != nil:
		r.note("no-figures", "no figures for new items: the model to grow was learned from rows that are held out now")
	default:
		r.note("no-figures", "no figures for new items: no two of the rows held out are similar")
	}
}

// nearChance is the part of the way from chance to a perfect MAP below which codes are in doubt.
const nearChance = 0.05

// doubtCodes casts doubt on codes that hardly tell rows apart.
func (r *run) doubtCodes(m *model.Model, f *model.Figures) {
	most := max(f.MAP, f.Margins.MAP, f.Expected.MAP)
	switch {
	case f.DistinctCodes == 1 && f.Rows > 1:
		r.addNote(Note{"one-code", fmt.Sprintf("all %d rows held out have the same code, so searches find every item alike: "+
			"the vectors may not show what makes rows similar, or there are too few rows to learn it", f.Rows), true})
	case most < f.Chance+float64(nearChance*(1-f.Chance)):
		r.addNote(Note{"near-chance",
			fmt.Sprintf("the codes find rows held out with MAP %.3f, and random ones would with %.3f: "+
				"the vectors may not show what makes rows similar, or there are too few rows to learn it", most, f.Chance), true})
	case 2*f.DistinctCodes < len(m.Info.Classes) && f.DistinctCodes < f.Rows/2:
		r.addNote(Note{"few-codes",
			fmt.Sprintf("the %d rows held out have only %s, for %d classes: more bits or more rows of "+
				"each class may tell them apart", f.Rows, message.Count(f.DistinctCodes, "code", "codes"), len(m.Info.Classes)),
			true})
	}
}

// remember stores in the model how to turn later data into vectors: from pictures, or from columns by name.
func (r *run) remember(m *model.Model) {
	m.Features = r.extractor
	grown := r.m.Run.Grow
	if grown != nil {
		m.Pictures = grown.Pictures // like the bits it starts from
	} else if p, ok := r.schema.Pictures.(*picture.Preparation); ok && (r.extractor != nil || p.Values() == m.Dim()) {
		own := *p // otherwise the vectors are features made elsewhere
		m.Pictures = &own
	}
	m.Info.Features, m.Info.Vector = r.schema.Names, r.schema.Vector
	m.Info.Label, m.Info.Tags = r.schema.Label, r.schema.Tags
	if grown != nil && len(grown.Info.Features) > 0 {
		m.Info.Features = grown.Info.Features
	}
}
