package engine

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"hashgrove/internal/fault"
)

// The program sqlite3 reads statements and writes a line per row, with values separated by |. It stops at the first
// error, and an uncommitted transaction is then lost. Texts are printed in hexadecimal, so no value can be mistaken
// for something else; the last line is a dot, so truncated output does not count.
//
// Drivers in Go would add 3.6 MB (modernc.org/sqlite) or 4.8 MB (ncruces/go-sqlite3) to the command, and neither loads
// sqlite-vec.

// maxLine limits the length of an output line.
const maxLine = 1 << 28

// load is the command that loads sqlite-vec.
func (s *sqlite) load() string {
	return ".load " + `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s.extension) + `"`
}

// run runs statements and passes on every line of output.
func (s *sqlite) run(ctx context.Context, statements []string, each func(line string) error) error {
	var script bytes.Buffer
	script.WriteString(".timeout 60000\n") // milliseconds to wait for another writer
	if s.vec {
		script.WriteString(s.load() + "\n")
	}
	for _, text := range append(statements, "SELECT '.'") {
		script.WriteString(text + ";\n")
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	// Ignore the user's own configuration of sqlite3.
	cmd := exec.CommandContext(ctx, "sqlite3", "-batch", "-bail", "-init", os.DevNull, "-list", "-noheader",
		"-separator", "|", "-nullvalue", "", s.path)
	cmd.Stdin, cmd.WaitDelay = &script, 10*time.Second
	complaint := &firstBytes{}
	cmd.Stderr = complaint
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if errors.Is(err, exec.ErrNotFound) {
		return fault.New("no-program", "the program sqlite3 is needed but was not found: "+
			"install it (on Debian, the package sqlite3)")
	}
	if err != nil {
		return err
	}
	whole, readErr := readLines(out, each)
	if readErr != nil {
		stop()
	}
	_, _ = io.Copy(io.Discard, out)
	err = cmd.Wait()
	switch {
	case readErr != nil:
		return readErr
	case context.Cause(ctx) != nil:
		return context.Cause(ctx)
	case err != nil || !whole || complaint.Len() > 0:
		return s.failure(complaint.String(), err)
	}
	return nil
}

// readLines passes on all lines but the last, and reports whether that was a dot.
func readLines(r io.Reader, each func(line string) error) (whole bool, err error) {
	in := bufio.NewReaderSize(r, 1<<16)
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull) && len(line) < maxLine:
			continue
		case errors.Is(err, io.EOF):
			return whole && len(line) == 0, nil
		case err != nil:
			return false, err
		}
		text := strings.TrimRight(string(line), "\r\n")
		if line = line[:0]; whole {
			return false, errors.New("the program sqlite3 printed more than expected")
		}
		if whole = text == "."; !whole {
			if err := each(text); err != nil {
				return false, err
			}
		}
	}
}

// firstBytes keeps the beginning of what is written to it.
type firstBytes struct{ bytes.Buffer }

func (f *firstBytes) Write(b []byte) (int, error) {
	if room := 1<<12 - f.Len(); room > 0 {
		f.Buffer.Write(b[:min(room, len(b))])
	}
	return len(b), nil
}

// removedCheck is the constraint violated by a batch made for another table.
const removedCheck = "hashgrove_removed"

// Result codes of SQLite, which the program appends to errors, as in "database is locked (5)".
const (
	sqliteBusy       = 5
	sqliteLocked     = 6
	sqliteIO         = 10
	sqliteTooBig     = 18
	sqliteConstraint = 19
)

// resultCode returns the code at the end of an error; 0 if there is none.
func resultCode(line string) int {
	_, end, _ := strings.Cut(line[max(0, strings.LastIndex(line, " (")):], "(")
	code, _ := strconv.Atoi(strings.TrimSuffix(end, ")"))
	return code & 0xff // without the extended part
}

// failure maps an error of the program to ours. Only the first line counts: parts of the statement follow.
func (s *sqlite) failure(complaint string, err error) error {
	line, _, _ := strings.Cut(strings.TrimSpace(complaint), "\n")
	if _, after, found := strings.Cut(line, "error near line "); found {
		_, line, _ = strings.Cut(after, ": ")
	}
	if line == "" {
		return fmt.Errorf("%w: the program sqlite3 ended early: %w", ErrTemporary, errors.Join(err, errors.New(s.path)))
	}
	text := fmt.Errorf("SQLite says: %s (file %s)", strings.ToValidUTF8(line, "?"), s.path)
	switch resultCode(line) {
	case sqliteBusy, sqliteLocked, sqliteIO:
		return fmt.Errorf("%w: %w", ErrTemporary, text)
	case sqliteConstraint, sqliteTooBig:
		if strings.Contains(line, removedCheck) {
			return fmt.Errorf("%w: %s was dropped or recreated meanwhile", ErrNoTable, s.table)
		}
		return fmt.Errorf("%w: %w", ErrRefused, text)
	}
	return text
}

// sqlText writes a text as a quoted literal if it is plain, else as bytes.
func sqlText(s string) string {
	if !utf8.ValidString(s) || strings.ContainsFunc(s, func(c rune) bool { return c < ' ' || c == 0x7f }) {
		return fmt.Sprintf("CAST(x'%x' AS TEXT)", s)
	}
	return "'" + strings.ReplaceAll(s, "'", "''") + "'"
}
