package hashgrove

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"hashgrove/internal/fasthash"
	"hashgrove/internal/gpu"
	"hashgrove/internal/hamming"
	"hashgrove/internal/message"
	"hashgrove/internal/method"
)

// OptionError reports an option that is invalid, alone or combined with another; use errors.As to detect it.
type OptionError struct {
	Code   string // says what is wrong, for programs
	format string
	args   []any
}

// option is the name of an option in the message of an OptionError.
type option string

// Error implements error, naming options like the flags of the command, without dashes.
func (e *OptionError) Error() string { return fmt.Sprintf(e.format, e.args...) }

// Flags returns the message with options named as flags of the command.
func (e *OptionError) Flags() string {
	args := slices.Clone(e.args)
	for i, a := range args {
		if name, ok := a.(option); ok {
			args[i] = name.flag()
		}
	}
	return fmt.Sprintf(e.format, args...)
}

// flag returns the option as it is typed.
func (n option) flag() string {
	if name := strings.ReplaceAll(string(n), "-", "_"); isSetting(name) {
		return "--set " + name
	}
	return "--" + string(n)
}

func wrong(code message.Code, format string, args ...any) error {
	return message.With(code, &OptionError{string(code), format, args})
}

// leastMemory is the smallest limit for Memory: Go itself takes some.
const leastMemory = 64 << 20

// Check reports invalid options before anything is read.
func (o Options) Check() error {
	if err := o.checkMethod(); err != nil {
		return err
	}
	switch c := o.Checkpoint; {
	case o.MinShared < 0 || o.MinShared > 255:
		return wrong("bad-flag-value", "%s %d: give a number from 1 to 255", option("min-shared"), o.MinShared)
	case c.Resume && c.Restart:
		return wrong("conflicting-flags", "%s and %s cannot be combined", option("resume"), option("restart"))
	case (c.Resume || c.Restart) && c.Folder == "":
		return wrong("missing-flag", "%s and %s need a %s", option("resume"), option("restart"), option("checkpoint"))
	case o.FastHash.samplesBadly():
		return wrong("conflicting-flags", "%s and %s must be given together, both positive", option("sample-similar"),
			option("sample-dissimilar"))
	case !(o.Validation < 1):
		return wrong("bad-flag-value", "%s %v is not below 1", option("validation"), o.Validation)
	case o.Other.PCA < 0 || o.Other.Anchors < 0:
		return wrong("bad-flag-value", "%s %d and %s %d: give positive numbers", option("pca"), o.Other.PCA,
			option("anchors"), o.Other.Anchors)
	case o.Memory != 0 && o.Memory < leastMemory:
		return wrong("too-small", "%s %s: nothing can be learned in less than %s", option("memory"),
			message.Size(o.Memory), message.Size(leastMemory))
	case o.Memory != 0 && o.Pictures.Features != "":
		return wrong("conflicting-flags", "%s and %s cannot be combined: write the vectors first, with \"hashgrove "+
			"features\"", option("memory"), option("features"))
	}
	if err := cmp.Or(gpu.Check(o.Device), o.checkDetail()); err != nil {
		return err
	}
	if err := o.Pictures.check(); err != nil {
		return err
	}
	m, err := o.resolve()
	if err != nil {
		return err
	}
	if o.isFastHash() {
		m.FastHash.Bits = m.Bits
		_, err = m.FastHash.WithDefaults()
	} else if o.Custom == nil {
		_, err = method.New(o.name(), m)
	}
	return err
}

// checkDetail reports bits of detail that no code can have.
func (o Options) checkDetail() error {
	kept := o.DetailBits
	if grown := o.Grow.inner(); kept == 0 && grown != nil {
		kept = grown.DetailBits()
	}
	most := hamming.MaxWeightedBits - cmp.Or(o.Bits, fasthash.DefaultBits)
	switch {
	case o.DetailBits < 0:
		return wrong("bad-flag-value", "%s %d: give a positive number, or 0 for none", option("detail-bits"), o.DetailBits)
	case kept > 0 && kept > most:
		return wrong("bad-flag-value", "%s %d: codes with bits of detail have %d bits at most, so there is room for %d",
			option("detail-bits"), kept, hamming.MaxWeightedBits, max(most, 0))
	}
	return nil
}

// name returns the name of the method.
func (o Options) name() string {
	if o.Custom != nil {
		return cmp.Or(o.Method, "custom")
	}
	return cmp.Or(o.Method, method.FastHash)
}

func (o Options) isFastHash() bool { return o.Custom == nil && o.name() == method.FastHash }

// checkMethod reports an unknown method, and options that do not apply to it.
func (o Options) checkMethod() error {
	name := o.name()
	if _, ok := method.Describe(name); !ok && o.Custom == nil {
		return wrong("no-such-method", "there is no method %q; the methods are %s", name, strings.Join(method.Names(), ", "))
	}
	for _, s := range o.foreign() {
		return wrong("wrong-method", "%s does not apply to the method %s", option(strings.ReplaceAll(s.name, "_", "-")), name)
	}
	return nil
}

// samplesBadly reports numbers of sampled rows that make no sense.
func (f FastHashOptions) samplesBadly() bool {
	return (f.SampleSimilar > 0) != (f.SampleDissimilar > 0) || f.SampleSimilar < 0 || f.SampleDissimilar < 0
}

// check reports mirror images that cannot be made.
func (p PictureOptions) check() error {
	if p.Features == "" && p.Mirror {
		return wrong("missing-flag", "%s needs %s, to turn the mirror images into vectors", option("mirror"),
			option("features"))
	}
	return nil
}
