package message

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"unicode"
)

// Open opens a file for reading.
func Open(path string) (*os.File, error) {
	f, err := os.Open(path)
	return f, Error(err)
}

// Stat describes a file.
func Stat(path string) (fs.FileInfo, error) {
	info, err := os.Stat(path)
	return info, Error(err)
}

// Error rephrases an error in plain words, or returns it unchanged if there is nothing better to say. The result wraps
// the same errors.
func Error(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		text = strings.ReplaceAll(text, e.Path+": "+e.Error(), e.Error())
		text = strings.ReplaceAll(text, e.Error(), e.Path+": "+reason(e.Err))
	}
	if e, ok := errors.AsType[*os.LinkError](err); ok {
		text = strings.ReplaceAll(text, e.Error(), fmt.Sprintf("%s: cannot become %s: %s", e.Old, e.New, reason(e.Err)))
	}
	if e, ok := errors.AsType[*strconv.NumError](err); ok {
		text = strings.ReplaceAll(text, e.Error(), number(e))
	}
	if text == err.Error() {
		return err
	}
	return &plainError{text, err}
}

// plainError is a rephrased error.
type plainError struct {
	text string
	err  error
}

func (e *plainError) Error() string { return e.text }
func (e *plainError) Unwrap() error { return e.err }

// reason returns the system's answer in plain words.
func reason(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "no such file"
	case errors.Is(err, fs.ErrExist):
		return "exists already"
	case errors.Is(err, syscall.EISDIR),
		runtime.GOOS == "windows" && errors.Is(err, syscall.Errno(1)): // ERROR_INVALID_FUNCTION, of reading a folder
		return "is a folder, not a file"
	case errors.Is(err, syscall.ENOTDIR):
		return "part of the path is a file, not a folder"
	}
	return err.Error()
}

// number explains why a text is not a number.
func number(e *strconv.NumError) string {
	switch {
	case errors.Is(e.Err, strconv.ErrRange):
		return fmt.Sprintf("%q is out of range", e.Num)
	case e.Func == "ParseFloat":
		return fmt.Sprintf("%q is not a number", e.Num)
	case e.Func == "ParseBool":
		return fmt.Sprintf("%q is neither true nor false", e.Num)
	case e.Func == "ParseUint":
		return fmt.Sprintf("%q is not a whole number from 0 up", e.Num)
	}
	return fmt.Sprintf("%q is not a whole number", e.Num)
}

// Count formats a number of things, with the noun in singular or plural.
func Count(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

// List joins the first twenty names for use in a sentence.
func List(names []string) string {
	const most = 20
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// Runs joins names for use in a sentence, up to ten parts, and shortens consecutive numbered names to e0..e767.
func Runs(names []string) string {
	const most = 10
	var parts []string
	for i := 0; i < len(names); {
		if len(parts) == most {
			return fmt.Sprintf("%s and %d more", strings.Join(parts, ", "), len(names)-i)
		}
		j := i
		for j+1 < len(names) && follows(names[j], names[j+1]) {
			j++
		}
		if j-i < 2 { // two names are no longer than a run
			j = i
		}
		part := names[i]
		if j > i {
			part += ".." + names[j]
		}
		parts = append(parts, part)
		i = j + 1
	}
	return strings.Join(parts, ", ")
}

// follows reports whether b is a with the number at its end increased by one.
func follows(a, b string) bool {
	stem := strings.TrimRight(a, "0123456789")
	rest, same := strings.CutPrefix(b, stem)
	if !same {
		return false
	}
	n, err1 := strconv.Atoi(a[len(stem):])
	m, err2 := strconv.Atoi(rest)
	return err1 == nil && err2 == nil && m == n+1
}

// Printable escapes control characters in a stored text.
func Printable(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0 {
		return s
	}
	quoted := strconv.Quote(s)
	return quoted[1 : len(quoted)-1]
}

// EditDistance returns the number of insertions, deletions, substitutions and swaps of neighbours that turn a into b.
func EditDistance(a, b string) int {
	d := make([][]int, len(a)+1)
	for i := range d {
		d[i] = make([]int, len(b)+1)
		for j := range d[i] {
			switch {
			case i == 0 || j == 0:
				d[i][j] = i + j
			case a[i-1] == b[j-1]:
				d[i][j] = d[i-1][j-1]
			default:
				d[i][j] = 1 + min(d[i-1][j-1], d[i-1][j], d[i][j-1])
			}
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d[i][j] = min(d[i][j], d[i-2][j-2]+1)
			}
		}
	}
	return d[len(a)][len(b)]
}

// Size formats a number of bytes.
func Size(bytes int64) string {
	x := float64(bytes)
	for _, unit := range []string{"bytes", "kB", "MB"} {
		if x < 1000 {
			if unit == "bytes" {
				return fmt.Sprintf("%d bytes", bytes)
			}
			return fmt.Sprintf("%.3g %s", x, unit)
		}
		x /= 1000
	}
	return fmt.Sprintf("%.3g GB", x)
}

// Bits says how many bits a code has.
func Bits(class, detail int) string {
	if detail == 0 {
		return Count(class, "bit", "bits")
	}
	return fmt.Sprintf("%s of the class and %d of detail", Count(class, "bit", "bits"), detail)
}

// Percent formats a share; only exactly 1 becomes 100 %.
func Percent(share float64) string {
	if share >= 0.995 && share < 1 {
		return "more than 99 %"
	}
	return fmt.Sprintf("%.0f %%", 100*share)
}
