package dataset

import (
	"bufio"
	"fmt"
	"strings"

	"hashgrove/internal/index"
	"hashgrove/internal/message"
)

// ReadIDs parses ids from texts and from the lines of files, without repetitions and empty lines.
func ReadIDs(texts, files []string) ([]index.ID, error) {
	for _, path := range files {
		f, err := message.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 1<<24)
		for lines.Scan() {
			if text := strings.TrimRight(lines.Text(), "\r"); text != "" {
				texts = append(texts, text)
			}
		}
		if err := lines.Err(); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	seen := map[index.ID]bool{}
	var ids []index.ID
	for _, text := range texts {
		id, err := index.ParseID(text)
		if err != nil {
			return nil, err
		}
		if !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	return ids, nil
}
