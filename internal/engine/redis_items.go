package engine

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
)

// writeScript writes every item of a batch, or nothing if the table is no longer the same, that is, its note does
// not start as given. It removes elements first because Redis 8.0 does not propagate replacements to its file and
// replicas.
const writeScript = `local note = redis.call('HGET', KEYS[2], '') or ''
if string.sub(note, 1, #ARGV[1]) ~= ARGV[1] then return redis.error_reply('NOTABLE removed') end
local info = redis.call('VINFO', KEYS[1]) or {}
for i = 1, #info, 2 do
  local name, value = info[i].ok, info[i + 1]
  if name == 'quant-type' and value.ok ~= 'bin' or name == 'vector-dim' and value ~= tonumber(ARGV[2]) then
    return redis.error_reply('WRONGTYPE other vectors')
  end
end
for i = 3, #ARGV, 4 do
  redis.call('VREM', KEYS[1], ARGV[i])
  redis.call('VADD', KEYS[1], 'FP32', ARGV[i + 1], ARGV[i], 'BIN', 'SETATTR', ARGV[i + 2])
  redis.call('HSET', KEYS[2], ARGV[i], ARGV[i + 3])
end
return (#ARGV - 2) / 4`

// Plan implements Engine.
func (r *redis) Plan(s Space) []Statement {
	key, details := redisWord(r.table), redisWord(r.details())
	of := s.shape()
	floats, distance := fmt.Sprintf("%d floats", of.wide()), "(1 - score) * "+strconv.Itoa(of.wide())
	what := ", +1 for a bit that is set and -1 for one that is not"
	if of.detail > 0 {
		what += fmt.Sprintf("; the first %d bits of a code come %d times, the others once", of.class(), repeats)
		distance += fmt.Sprintf(" / %d", repeats)
	}
	vector := fmt.Sprintf("FP32 <%s%s>", floats, what)
	note := redisNote(s, "<32 random digits>")
	return []Statement{
		{"make the table, where there is none", fmt.Sprintf("EVAL %s 2 %s %s %s", redisWord(noteScript), key, details,
			redisWord(note)), true},
		{"write a batch", fmt.Sprintf("EVAL %s 2 %s %s %s %d <id> <%s> <attributes to filter by> <item> ...",
			redisWord(writeScript), key, details, redisWord(note), of.wide(), floats), true},
		{"search exactly; the distance in bits is " + distance,
			fmt.Sprintf(`VSIM %s %s WITHSCORES COUNT 10 TRUTH`, key, vector), false},
		{"search with the graph, nearly exactly, and with a filter",
			fmt.Sprintf(`VSIM %s %s WITHSCORES COUNT 10 EF 200 FILTER '.label == "boots" and "sale" in .tag and .price < 30'`,
				key, vector), false},
		{"an item in full, by its id", fmt.Sprintf("HGET %s <id>", details), false},
		{"remove the table", fmt.Sprintf("UNLINK %s %s", key, details), false},
	}
}

// redisWord quotes a word for redis-cli.
func redisWord(s string) string {
	special := func(c rune) bool { return c <= ' ' || c > '~' || strings.ContainsRune("'\"\\", c) }
	if s != "" && !strings.ContainsFunc(s, special) {
		return s
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(s) + `"`
}

// redisItem is an item as stored in the hash.
type redisItem struct {
	Code       string                 `json:"code"` // hexadecimal
	Label      string                 `json:"label,omitempty"`
	Tags       []string               `json:"tags,omitempty"`
	Attributes map[string]index.Value `json:"attributes,omitempty"`
}

// redisAttributes returns what filters look at, as JSON: label, tag and id, the attributes that a filter may name,
// and in fields that start with an underscore the number of tags, whether the id is an integer and its value, and
// the names of numeric and of text attributes. Redis understands few escapes, so no others are used.
func redisAttributes(it index.Item) string {
	var b, fields strings.Builder
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`, "\t", `\t`)
	list := func(texts []string) string {
		quoted := make([]string, len(texts))
		for i, text := range texts {
			quoted[i] = `"` + quote.Replace(text) + `"`
		}
		return "[" + strings.Join(quoted, ",") + "]"
	}
	var numbers, texts []string
	for _, name := range slices.Sorted(maps.Keys(it.Attributes)) {
		if !selectable(name) {
			continue
		}
		if x, ok := it.Attributes[name].Number(); ok {
			numbers = append(numbers, name)
			fmt.Fprintf(&fields, `,"%s":%s`, name, strconv.FormatFloat(x, 'g', -1, 64))
		} else {
			text, _ := it.Attributes[name].Text()
			texts = append(texts, name)
			fmt.Fprintf(&fields, `,"%s":"%s"`, name, quote.Replace(text))
		}
	}
	n, integer := it.ID.Integer()
	kind := 0
	if integer {
		kind = 1
	}
	fmt.Fprintf(&b, `{"label":"%s","tag":%s,"id":"%s","_tags":%d,"_int":%d,"_id":%d,"_numbers":%s,"_texts":%s%s}`,
		quote.Replace(it.Label), list(it.Tags), quote.Replace(it.ID.String()), len(it.Tags), kind, n,
		list(numbers), list(texts), fields.String())
	return b.String()
}

// floats returns code i as Redis expects it.
func floats(c hamming.Codes, i int) string {
	b := make([]byte, 0, 4*c.Bits)
	for bit := range c.Bits {
		x := float32(-1)
		if c.Bit(i, bit) {
			x = 1
		}
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return string(b)
}

// redisWords returns an item as arguments of writeScript.
func redisWords(of shape, b *index.Batch, i int) ([]string, error) {
	it := b.Item(i)
	if err := eachText(it, inJSON); err != nil {
		return nil, err
	}
	full, err := json.Marshal(redisItem{
		hex.EncodeToString(b.Codes.AppendBytes(nil, i)), it.Label, it.Tags, it.Attributes,
	})
	return []string{it.ID.String(), floats(of.spread(b.Codes, i), 0), redisAttributes(it), string(full)}, err
}

// Write implements Engine.
func (r *redis) Write(ctx context.Context, b *index.Batch) error {
	order, err := orderOf(b, r.bits)
	if err != nil {
		return err
	}
	command := []string{"EVAL", writeScript, "2", r.table, r.details(), r.meta, strconv.Itoa(r.wide())}
	for _, row := range order {
		words, err := redisWords(r.shape, b, row)
		if err != nil {
			return err
		}
		command = append(command, words...)
	}
	answers, err := r.ask(ctx, command)
	if err == nil && answers[0] != int64(len(order)) {
		err = fmt.Errorf("%v of %d items were written", answers[0], len(order))
	}
	return err
}

// Count implements Engine.
func (r *redis) Count(ctx context.Context) (int, error) {
	answers, err := r.ask(ctx, []string{"VCARD", r.table})
	if err != nil {
		return 0, err
	}
	n, ok := answers[0].(int64)
	if !ok {
		return 0, errAnswer
	}
	return int(n), nil
}

// Search implements Engine.
func (r *redis) Search(ctx context.Context, q Query) ([][]index.Hit, error) {
	if err := q.check(r.bits); err != nil {
		return nil, err
	}
	filters, err := redisFilter{}.expressions(q.Filter)
	if err != nil {
		return nil, err
	}
	all := make([][]index.Hit, q.Codes.Len())
	for _, filter := range filters {
		if err := r.searchAll(ctx, q, filter, all); err != nil {
			return nil, err
		}
	}
	for i, hits := range all {
		slices.SortFunc(hits, compareHits)
		hits = slices.Compact(hits) // one item may match several filters
		if q.K > 0 && len(hits) > q.K {
			hits = hits[:q.K]
		}
		all[i] = hits
	}
	return r.apart(ctx, r, q, all)
}

// searchAll adds the answers of all queries with one filter. If a tie is cut off, or more items may lie within the
// radius, it repeats the query for four times as many.
func (r *redis) searchAll(ctx context.Context, q Query, filter string, all [][]index.Hit) error {
	const pipeline = 64 // queries sent without waiting for replies
	open := make([]int, len(all))
	for i := range open {
		open[i] = i
	}
	for count := q.K + 64; len(open) > 0; count *= 4 {
		var again []int
		for part := range slices.Chunk(open, pipeline) {
			commands := make([][]string, len(part))
			for i, query := range part {
				commands[i] = r.searchCommand(q, query, filter, count)
			}
			answers, err := r.ask(ctx, commands...)
			if err != nil {
				return err
			}
			for i, query := range part {
				hits, err := r.hits(answers[i])
				if err != nil {
					return err
				}
				n := len(hits)
				if !r.near(q) && n == count && (q.K == 0 || hits[n-1].Distance == hits[q.K-1].Distance) {
					again = append(again, query)
					continue
				}
				all[query] = append(all[query], hits...)
			}
		}
		open = again
	}
	return nil
}

// searchCommand asks for the nearest items, within the radius if there is one, plus half a bit because Redis
// computes distances in float32.
func (r *redis) searchCommand(q Query, query int, filter string, count int) []string {
	code := floats(r.spread(q.Codes, query), 0)
	command := []string{"VSIM", r.table, "FP32", code, "WITHSCORES", "COUNT", strconv.Itoa(count)}
	if radius := r.radius(q.Radius); radius >= 0 && radius < r.wide() {
		epsilon := float64(2*radius+1) / float64(r.wide())
		command = append(command, "EPSILON", strconv.FormatFloat(epsilon, 'g', -1, 64))
	}
	if filter != "" {
		command = append(command, "FILTER", filter)
	}
	if !r.near(q) {
		return append(command, "TRUTH")
	}
	return append(command, "EF", strconv.Itoa(max(200, 4*q.K)))
}

// near reports whether a search uses the graph; one within a radius never does.
func (r *redis) near(q Query) bool { return r.graph && q.Radius < 0 }

// hits parses ids and scores. The score is 1 - distance/bits, off by less than a millionth.
func (r *redis) hits(answer any) ([]index.Hit, error) {
	list, ok := answer.([]any)
	if !ok || len(list)%2 != 0 {
		return nil, errAnswer
	}
	hits := make([]index.Hit, 0, len(list)/2)
	for i := 0; i < len(list); i += 2 {
		name, _ := list[i].(string)
		text, _ := list[i+1].(string)
		score, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, errAnswer
		}
		id, err := index.ParseID(name)
		if err != nil {
			return nil, err
		}
		hits = append(hits, index.Hit{ID: id, Distance: int(math.Round((1 - score) * float64(r.wide())))})
	}
	return hits, nil
}
