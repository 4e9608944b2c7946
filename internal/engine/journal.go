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
	"strconv"
	"strings"
	"sync"

	"hashgrove/internal/fault"
	"hashgrove/internal/index"
)

// The journal of a push is a text file: a line of JSON that says what is pushed where, then one line for every batch
// the engine has acknowledged, with its number and a hash of its items. An incomplete line does not count. Lost lines
// only cost time, because a batch may be written again, so the file is not synced.
//
// A resumed push reads its items from the start and skips batches that are in the journal with the same hash. The hash
// of the first batch is in the first line, so different items are rejected before any is written.
//
// Version 1 had a hash of all items, which could be known only after reading all of them; such a journal is restarted.
//
// The first line has the table's identity: if the table was dropped and recreated, the journal is restarted.

// journalHead is the first line.
type journalHead struct {
	Format   string `json:"format"`
	Table    string `json:"table"`
	Identity string `json:"identity"`
	Batch    int    `json:"batch"`
	Digest   string `json:"digest"` // of the first batch
}

const (
	journalName   = "hashgrove push "
	journalFormat = journalName + "2"
)

// maxJournal limits how much of a file is read: more than five million batches.
const maxJournal = 1 << 27

// journal is an open journal; nil keeps none.
type journal struct {
	path string
	file *os.File
	mu   sync.Mutex
	done map[int]string // digests by batch number
}

// openJournal opens the journal of a push and reads which batches are done. It rejects the journal of another push.
func openJournal(path string, head journalHead) (*journal, error) {
	if path == "" {
		return nil, nil
	}
	b, err := readBounded(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w: name another journal", path, err)
	}
	j := &journal{path: path, done: map[int]string{}}
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
	text := []byte("\n") // ends an incomplete line
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

// read loads an existing journal and reports whether it belongs to this push.
func (j *journal) read(b []byte, head journalHead) (bool, error) {
	first, rest, whole := strings.Cut(string(b), "\n")
	if !whole && (len(b) == 0 || strings.HasPrefix(first, `{"format":"`+journalName)) {
		return false, nil // nothing was pushed yet
	}
	var old journalHead
	err := json.Unmarshal([]byte(first), &old)
	switch {
	case err != nil || !strings.HasPrefix(old.Format, journalName):
		return false, fault.New("not-a-journal", "the file is not the journal of a push: name another one")
	case old.Table == head.Table && old.Format == journalName+"1":
		return false, nil
	case old.Format != journalFormat && old.Format != journalName+"1":
		return false, errors.New("the journal was written by a newer version: continue with that, or name another journal")
	case old.Table != head.Table || old.Batch == head.Batch && old.Digest != head.Digest:
		return false, fault.New("other-push", "the journal belongs to another push, which was interrupted: finish that one, "+
			"name another journal, or remove this one")
	case old != head: // the table is new, or the batch size changed
		return false, nil
	}
	lines := bufio.NewScanner(strings.NewReader(rest))
	for lines.Scan() {
		number, sum, _ := strings.Cut(lines.Text(), " ")
		n, err := strconv.Atoi(number)
		if sum, ok := strings.CutSuffix(sum, "."); ok && err == nil && len(sum) == digestDigits {
			j.done[n] = sum
		}
	}
	return true, lines.Err()
}

// add records a finished batch. The dot at the end marks the line as complete.
func (j *journal) add(batch int, sum string) error {
	if j == nil {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	_, err := fmt.Fprintf(j.file, "%d %s.\n", batch, sum)
	return err
}

// has reports whether a batch was done before.
func (j *journal) has(batch int) bool { return j != nil && j.done[batch] != "" }

// check rejects a batch whose items differ from those recorded.
func (j *journal) check(batch int, sum string) error {
	if old := j.done[batch]; old != sum {
		return fault.New("changed-data", "%s: the items of batch %d have changed since the push was interrupted: "+
			"the data have changed, so remove the journal to push all of them", j.path, batch)
	}
	return nil
}

// end closes the journal and removes it if the push is complete.
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

// digestDigits is the length of a digest: 64 bits, to detect changed data, not attacks.
const digestDigits = 16

// digest hashes the items of a batch.
func digest(b *index.Batch) (string, error) {
	h := sha256.New()
	var buf []byte
	for i := range b.IDs {
		text, err := json.Marshal(b.Item(i)) // everything but the code, with sorted keys
		if err != nil {
			return "", err
		}
		buf = binary.LittleEndian.AppendUint64(buf[:0], uint64(len(text)))
		buf = append(buf, text...)
		buf = b.Codes.AppendBytes(buf, i)
		h.Write(buf)
	}
	h.Write(b.Fingerprint[:])
	return hex.EncodeToString(h.Sum(nil))[:digestDigits], nil
}
