package server

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/binary"
	"encoding/json"
	"io"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"hashgrove/internal/atlas"
	"hashgrove/internal/index"
)

// mapAnswer is a layout of the distinct codes. Lists of numbers are base64 of little-endian bytes.
type mapAnswer struct {
	about
	Items   int        `json:"items"`
	Points  int        `json:"points"`
	Labels  []string   `json:"labels"` // most frequent first
	XY      []byte     `json:"xy"`     // two uint16 per point
	Label   []byte     `json:"label"`  // a uint16 per point: the label of most of its items
	Count   []byte     `json:"count"`  // a uint32 per point: the number of items
	IDs     []index.ID `json:"ids"`    // one item per point
	Sampled bool       `json:"sampled"`
	Seconds float64    `json:"seconds"` // that it took
}

// Limits on the size of a map, since ids and labels can be long.
const (
	noLabel       = math.MaxUint16 // for points without a label or with a rare one
	mapIDBytes    = 16 << 20
	mapLabelBytes = 4 << 20
)

// drawnMap is a map ready to send: gzipped JSON.
type drawnMap []byte

// map_ sends the map of a collection.
func (s *Server) map_(w http.ResponseWriter, r *http.Request, c *collection) error {
	drawn, ok, err := await(s, w, r, c, &c.atlas, func(ctx context.Context, report func(float64)) (drawnMap, error) {
		x := c.open().snapshot()
		return drawMap(ctx, about{c.name, x.Fingerprint().String()}, x, report)
	})
	if !ok {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Vary", "Accept-Encoding")
	if acceptsGzip(r) {
		h.Set("Content-Encoding", "gzip")
		_, _ = w.Write(drawn)
		return nil
	}
	z, err := gzip.NewReader(bytes.NewReader(drawn))
	if err == nil {
		_, _ = io.Copy(w, z)
	}
	return err
}

// acceptsGzip reports whether the client accepts gzip.
func acceptsGzip(r *http.Request) bool {
	for part := range strings.SplitSeq(strings.Join(r.Header.Values("Accept-Encoding"), ","), ",") {
		coding, quality, _ := strings.Cut(strings.TrimSpace(part), ";")
		if strings.EqualFold(strings.TrimSpace(coding), "gzip") {
			q := strings.TrimSpace(quality)
			return !strings.HasPrefix(q, "q=0") || strings.Trim(q, "q=0.") != ""
		}
	}
	return false
}

// drawMap lays out the codes of a snapshot.
func drawMap(ctx context.Context, of about, x *index.Snapshot, report func(float64)) (drawnMap, error) {
	began := time.Now()
	o := atlas.Options{Threads: backgroundThreads(), Progress: report}
	if mean := x.Memory().IDs / max(x.Len(), 1); mean > mapIDBytes/atlas.MaxPoints {
		o.Points = mapIDBytes / mean
	}
	m, err := atlas.Make(ctx, x, o)
	if err != nil {
		return nil, err
	}
	n := len(m.Groups)
	a := mapAnswer{
		about: of, Items: x.Len(), Points: n, Labels: commonLabels(m.Groups), Sampled: !m.All,
		XY: make([]byte, 0, 4*n), Label: make([]byte, 0, 2*n), Count: make([]byte, 0, 4*n), IDs: make([]index.ID, n),
	}
	number := map[string]uint16{}
	for i, label := range a.Labels {
		number[label] = uint16(i)
	}
	le := binary.LittleEndian
	for i, g := range m.Groups {
		label, ok := number[g.Label]
		if !ok {
			label = noLabel
		}
		a.XY = le.AppendUint16(le.AppendUint16(a.XY, m.X[i]), m.Y[i])
		a.Label, a.Count = le.AppendUint16(a.Label, label), le.AppendUint32(a.Count, uint32(g.Items))
		a.IDs[i] = g.ID
	}
	a.Seconds = time.Since(began).Seconds()
	return compressed(a)
}

// commonLabels returns the most frequent labels of the groups, ties in alphabetical order, up to the limits on
// number and size.
func commonLabels(groups []index.Group) []string {
	items := map[string]int{}
	for _, g := range groups {
		if g.Label != "" {
			items[g.Label] += g.Items
		}
	}
	labels := slices.SortedFunc(maps.Keys(items), func(a, b string) int {
		return cmp.Or(cmp.Compare(items[b], items[a]), cmp.Compare(a, b))
	})
	bytes := 0
	for i, label := range labels {
		if bytes += len(label); i == noLabel || bytes > mapLabelBytes {
			return labels[:i]
		}
	}
	return append([]string{}, labels...)
}

func compressed(v any) (drawnMap, error) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if err := json.NewEncoder(z).Encode(v); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return slices.Clip(b.Bytes()), nil
}
