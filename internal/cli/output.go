package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"hashgrove/internal/fileio"
	"hashgrove/internal/message"
)

// ErrExists means that an output exists and may not be overwritten.
var ErrExists = fmt.Errorf("%w: name another output, or overwrite it", fs.ErrExist)

// Output checks the files that a command is going to write before its work begins.
type Output struct {
	Force    bool // overwrite existing files
	FileOnly bool // refuse -, because the command cannot write to standard output
}

// Bind adds the --force flag.
func (o *Output) Bind(f *pflag.FlagSet) {
	f.BoolVar(&o.Force, "force", false, "overwrite files that exist; a file that is read is never overwritten")
}

// Check returns an error for outputs that must not or cannot be written: an input, by any path or link; an existing
// file, unless Force is set; a folder; a file in a missing or read-only folder. Inputs may be patterns. "" and "-"
// (standard output) are skipped, as are devices and pipes.
func (o *Output) Check(outputs, inputs []string) error {
	if o.FileOnly && slices.Contains(outputs, "-") {
		return Usage("no-standard-output", "-: this is not written to standard output: name a file")
	}
	outputs = slices.DeleteFunc(slices.Clone(outputs), func(path string) bool { return path == "" || path == "-" })
	read := existing(inputs)
	seen := map[string]bool{}
	for _, path := range outputs {
		if seen[filepath.Clean(path)] {
			return Usagef("%s: is written twice: name another file for one of the outputs", path)
		}
		seen[filepath.Clean(path)] = true
		if err := checkInputs(path, read); err != nil {
			return err
		}
	}
	for _, path := range outputs {
		if err := o.try(path); err != nil {
			return err
		}
	}
	return nil
}

// input is an existing input file, or the error from looking at it.
type input struct {
	path string
	info fs.FileInfo
	err  error
}

// existing stats the inputs. Missing ones are left to the reader to report.
func existing(inputs []string) []input {
	var read []input
	for _, pattern := range inputs {
		paths := []string{pattern}
		if _, err := os.Lstat(pattern); err != nil && strings.ContainsAny(pattern, "*?[") {
			paths, _ = filepath.Glob(pattern) // a bad pattern names no file
		}
		for _, path := range paths {
			if info, err := os.Stat(path); path != "" && !errors.Is(err, fs.ErrNotExist) {
				read = append(read, input{path, info, err})
			}
		}
	}
	return read
}

// checkInputs rejects an output that is also an input.
func checkInputs(path string, read []input) error {
	old, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && !old.Mode().IsRegular():
		return nil
	case err != nil:
		return err
	}
	for _, in := range read {
		if in.err != nil {
			return fmt.Errorf("%s is not overwritten, for it may be read by this command: %w", path, in.err)
		}
		if !os.SameFile(old, in.info) {
			continue
		}
		same := "is"
		if filepath.Clean(in.path) != filepath.Clean(path) {
			same = fmt.Sprintf("is the same file as %s, which is", in.path)
		}
		return Usage("output-is-input",
			"%s: %s read by this command, so it is not overwritten: name another output", path, same)
	}
	return nil
}

// try checks whether a file can be written.
func (o *Output) try(path string) error {
	switch old, err := os.Stat(path); {
	case err == nil && old.IsDir():
		return message.New("is-a-folder", "%s: is a folder: name a file in it", path)
	case err == nil && !old.Mode().IsRegular():
		return nil
	case err == nil && !o.Force:
		return fmt.Errorf("%s: %w", path, ErrExists)
	case err != nil && !errors.Is(err, fs.ErrNotExist): // it may exist
		return err
	}
	// Only trying tells: permissions, a full disk, a read-only file system.
	target := fileio.Target(path)
	f, err := fileio.NewTemporary(target)
	if errors.Is(err, fs.ErrNotExist) {
		return message.New("no-such-folder", "%s: there is no folder %s to write it to", path, filepath.Dir(target))
	}
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}
