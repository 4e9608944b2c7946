package engine

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"

	"hashgrove/index"
)

// The journal of a push is a text file: a line of JSON that says what is pushed where, and then the number of every
// batch that the engine has acknowledged, a line each. A line that was cut off does not count. Losing lines costs only
// time, because a batch may be written again; so nothing is synced.
//
// The table's identity is in the first line: a table that was removed and made anew makes the journal start again.

// journalHead is the first line.
type journalHead struct {
	Format   string `json:"format"`
	Table    string `json:"table"`
	Identity string `json:"identity"`
	Items    int    `json:"items"`
	Batch    int    `json:"batch"`
	Digest   string `json:"digest"` // of all items
}

const journalFormat = "hashgrove push 1"

// maxJournal is how much of a file is read: ten million batches and more.
const maxJournal = 1 << 27

// journal is an open journal; nil keeps none.
type journal struct {
	path string
	file *os.File
	mu   sync.Mutex
	done map[int]bool
}

// openJournal opens the journal of a push and reads which batches are done. A journal of another push is refused.
func openJournal(path string, head journalHead) (*journal, error) {
	if path == "" {
		return nil, nil
	}
	b, err := readBounded(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w: name another journal", path, err)
	}
	j := &journal{path: path, done: map[int]bool{}}
	old, err := j.read(b, head)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	flags := os.O_CREATE | os.O_WRONLY | os.O_APPEND
	if !old {
		flags |= os.O_TRUNC
	}
	if j.file, err = os.OpenFile(path, flags, 0o666); err != nil {
		return nil, err
	}
	text := []byte("\n") // ends a line that was cut off
	if !old {
		text, err = json.Marshal(head)
		text = append(text, '\n')
	}
	if err == nil {
		_, err = j.file.Write(text)
	}
	if err != nil {
		j.file.Close()
		return nil, err
	}
	return j, nil
}

// readBounded reads a file that should be small.
func readBounded(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxJournal+1))
	if err == nil && len(b) > maxJournal {
		err = errors.New("the file is too large for a journal")
	}
	return b, err
}

// read takes in an old journal, and reports whether it is of the push.
func (j *journal) read(b []byte, head journalHead) (bool, error) {
	first, rest, whole := strings.Cut(string(b), "\n")
	if !whole && len(b) == 0 || !whole && strings.HasPrefix(first, `{"format":"`+journalFormat) {
		return false, nil // nothing was pushed yet
	}
	var old journalHead
	if err := json.Unmarshal([]byte(first), &old); err != nil || old.Format != journalFormat {
		return false, errors.New("the file is no journal of a push: name another one")
	}
	if old.Table != head.Table || old.Digest != head.Digest {
		return false, errors.New("the journal is of another push, which was interrupted: finish that one, " +
			"name another journal, or remove this one")
	}
	if old != head { // the table is new, or the batches have another size
		return false, nil
	}
	batches := (head.Items + head.Batch - 1) / head.Batch
	lines := bufio.NewScanner(strings.NewReader(rest))
	for lines.Scan() {
		var n int
		var end string
		if k, _ := fmt.Sscanf(lines.Text(), "%d%s", &n, &end); k == 2 && end == "." && n >= 0 && n < batches {
			j.done[n] = true
		}
	}
	return true, lines.Err()
}

// add notes that a batch is done. The point at the end shows that the line is whole.
func (j *journal) add(batch int) error {
	if j == nil {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	_, err := fmt.Fprintf(j.file, "%d.\n", batch)
	return err
}

// has tells whether a batch was done before.
func (j *journal) has(batch int) bool { return j != nil && j.done[batch] }

// end closes the journal, and removes it when the push is complete.
func (j *journal) end(complete bool) error {
	if j == nil {
		return nil
	}
	err := j.file.Close()
	if complete && err == nil {
		err = os.Remove(j.path)
	}
	return err
}

// digest is a hash of items in the given order.
func digest(b *index.Batch, rows []int) (string, error) {
	h := sha256.New()
	var buf []byte
	for _, r := range rows {
		text, err := json.Marshal(b.Item(r)) // all but the code, names in order
		if err != nil {
			return "", err
		}
		buf = binary.LittleEndian.AppendUint64(buf[:0], uint64(len(text)))
		buf = append(buf, text...)
		buf = b.Codes.AppendBytes(buf, r)
		h.Write(buf)
	}
	h.Write(b.Fingerprint[:])
	return hex.EncodeToString(h.Sum(nil)), nil
}
