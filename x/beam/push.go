package beam

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"hashgrove/internal/engine"
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
)

// Target names a table of an engine. Passwords are not part of a pipeline: a worker finds them where the engine's own
// programs do (PGPASSWORD, ~/.pgpass), or in the variable of its environment that Password names.
type Target struct {
	URL      string // as of engine.Target
	Table    string
	Password string // name of a variable of the environment; "" leaves it to the engine
	Vector   bool   // PostgreSQL: use pgvector
	Batch    int    // items of a batch; 0 means engine.DefaultBatch
	InFlight int    // batches under way in a worker; 0 means engine.DefaultInFlight
}

// Pushed is a run of items that an engine has.
type Pushed struct {
	Shard, Items, Retries int
}

func init() {
	beam.RegisterType(reflect.TypeFor[Pushed]())
	beam.RegisterType(reflect.TypeFor[prepareFn]())
	beam.RegisterType(reflect.TypeFor[pushFn]())
}

// Push writes codes of a model with their ids, labels and tags into a table of an engine. The table is made or checked
// before the first item is written. Items are replaced by id, so a run that is pushed again changes nothing.
func Push(s beam.Scope, codes beam.PCollection, m ModelFile, t Target) (beam.PCollection, error) {
	if _, err := t.open(context.Background()); err != nil {
		return beam.PCollection{}, err
	}
	s = s.Scope("Push")
	ready := beam.ParDo(s, &prepareFn{Target: t, Bits: m.Bits, Fingerprint: m.Fingerprint}, beam.Impulse(s))
	return beam.ParDo(s, &pushFn{Target: t}, codes, beam.SideInput{Input: ready}), nil
}

// open opens the engine, which waits with the connection.
func (t Target) open(ctx context.Context) (engine.Engine, error) {
	target := engine.Target{URL: t.URL, Table: t.Table, InFlight: t.InFlight, Vector: t.Vector}
	if t.Password != "" {
		if target.Password = os.Getenv(t.Password); target.Password == "" {
			return nil, fmt.Errorf("the environment has no %s, which should hold the password of the engine", t.Password)
		}
	}
	return engine.Open(ctx, target)
}

// prepareFn makes the table, in one place.
type prepareFn struct {
	Target      Target
	Bits        int
	Fingerprint string
}

// ProcessElement makes or checks the table.
func (f *prepareFn) ProcessElement(ctx context.Context, _ []byte, emit func(bool)) error {
	print, err := hamming.ParseFingerprint(f.Fingerprint)
	if err != nil {
		return err
	}
	e, err := f.Target.open(ctx)
	if err != nil {
		return err
	}
	defer e.Close()
	if _, err := e.Prepare(ctx, engine.Space{Bits: f.Bits, Fingerprint: print}); err != nil {
		return err
	}
	emit(true)
	return nil
}

// pushFn pushes runs; it has a connection for all of them.
type pushFn struct {
	Target Target
	engine engine.Engine
}

// Setup opens the engine.
func (f *pushFn) Setup(ctx context.Context) (err error) {
	f.engine, err = f.Target.open(context.WithoutCancel(ctx))
	return err
}

// Teardown closes it.
func (f *pushFn) Teardown() error {
	if f.engine == nil {
		return nil
	}
	return f.engine.Close()
}

// ProcessElement pushes one run; the side input is there once the table is.
func (f *pushFn) ProcessElement(ctx context.Context, c Codes, ready func(*bool) bool, emit func(Pushed)) error {
	var is bool
	if !ready(&is) || !is {
		return errors.New("the table of the engine was not made")
	}
	b, err := c.batch()
	if err != nil || len(b.IDs) == 0 {
		return err
	}
	r, err := engine.Push(ctx, f.engine, b, engine.PushOptions{Batch: f.Target.Batch, InFlight: f.Target.InFlight})
	if err != nil {
		return fmt.Errorf("run %d of %d, %d of %d items written: %w", c.Shard.Number, c.Shard.Of, r.Written, r.Items, err)
	}
	count(ctx, "pushed", r.Written)
	emit(Pushed{c.Shard.Number, r.Written, r.Retries})
	return nil
}

// batch is the codes as items.
func (c *Codes) batch() (*index.Batch, error) {
	codes, err := c.codes()
	if err != nil {
		return nil, err
	}
	b := index.NewBatch(c.Bits)
	if b.Fingerprint, err = hamming.ParseFingerprint(c.Fingerprint); err != nil {
		return nil, err
	}
	for i, text := range c.IDs {
		it := index.Item{Code: codes.Row(i)}
		if it.ID, err = index.ParseID(text); err != nil {
			return nil, fmt.Errorf("row %d: %w", c.Rows[i]+1, err)
		}
		if c.Labels != nil {
			it.Label = c.Labels[i]
		}
		if c.Tags != nil {
			it.Tags = c.Tags[i]
		}
		b.Append(it)
	}
	return b, nil
}
