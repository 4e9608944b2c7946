package model

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"hashgrove/internal/fileio"
	"hashgrove/internal/hamming"
	"hashgrove/internal/picture"
	"hashgrove/internal/picture/feature"
	"hashgrove/internal/testkit/needs"
	"hashgrove/internal/vectors"
)

// samples are small models of every kind.
func samples() map[string]*Model {
	rng := rand.New(rand.NewPCG(9, 9))
	info := Info{Method: "test", Version: "1.2", Runs: []Run{{Bits: 2, Seed: 1<<64 - 1, Data: "ab", Rows: 7, Options: json.RawMessage(`{"a":"<é>"}`)}, {Bits: 3}},
		Bits: []BitStat{{Objective: -1.5, TrainError: 0.25, Trees: 3}, {}, {TrainError: 1e-300}}, Features: []string{"é", "", `"`, "<"}, Classes: []string{"x"},
		Sketch: NewSketch([]uint64{7, 1 << 63, 7, 0}), NewItems: &Figures{Rows: 2, MAP: 0.5, MAPHigh: 1, DistinctCodes: 1},
		LearnedItems: &Figures{Rows: 3, DistinctCodes: 3}}
	deep := randomTrees(rng, 3, 4, 8, 2)
	deep.Functions[1] = randomEnsemble(rng, 4, 1, 5) // depths may differ from bit to bit
	all := map[string]*Model{
		"trees":      {Encoder: randomTrees(rng, 3, 4, 2, 3), Info: info},
		"deep":       {Encoder: deep, Info: Info{}},
		"linear":     {Encoder: randomHyperplanes(rng, 3, 4), Info: info},
		"projection": {Encoder: randomProjection(rng, 3, 4, true), Info: info},
		"nomean":     {Encoder: randomProjection(rng, 3, 4, false), Info: Info{}},
		"features":   {Encoder: randomTrees(rng, 3, 4, 2, 3), Features: &feature.Pixels{Width: 2, Height: 2, Channels: 1}, Info: info},
	}
	for name, e := range sampleMapped(rng) {
		all["mapped-"+strings.ReplaceAll(name, " ", "-")] = &Model{Encoder: e, Info: info}
	}
	all["mapped-extension"].Info.Added, all["mapped-extension"].Info.Linear = []string{"linear:é", "component:1"}, "because"
	all["extension-pictures"] = &Model{Encoder: all["mapped-extension"].Encoder, Info: info,
		Pictures: &picture.Preparation{Shape: picture.Shape{Width: 2, Height: 2, Channels: 1}}}
	shape := picture.Shape{Width: 2, Height: 2, Channels: 1}
	all["pictures"] = &Model{Encoder: randomTrees(rng, 3, 4, 2, 3), Pictures: &picture.Preparation{Shape: shape, Squash: true}, Info: info}
	all["pictures-features"] = &Model{
		Encoder: randomTrees(rng, 3, 4, 2, 3), Features: all["features"].Features,
		Pictures: &picture.Preparation{Shape: shape, Mirrored: true}, Info: info,
	}
	colour := picture.Shape{Width: 1, Height: 2, Channels: 3, Planar: true}
	all["pictures-planar"] = &Model{Encoder: randomProjection(rng, 3, 6, true), Pictures: &picture.Preparation{Shape: colour}, Info: Info{}}
	all["mapped-features"] = &Model{Encoder: all["mapped-kernel"].Encoder, Features: all["features"].Features, Info: info}
	all["sketch"] = &Model{Encoder: randomTrees(rand.New(rand.NewPCG(10, 10)), 3, 4, 2, 3), Info: info} // the first file with one
	rng = rand.New(rand.NewPCG(11, 11))
	all["edges"] = &Model{Encoder: withOtherBins(rng, randomTrees(rng, 3, 4, 2, 3), false), Info: info}
	all["missing"] = &Model{Encoder: randomTrees(rng, 3, 4, 2, 3), Info: info}
	all["missing"].Encoder.(*Binned).Quantizer.Missing = true
	all["edges-missing"] = &Model{
		Encoder: withOtherBins(rng, randomTrees(rng, 3, 4, 2, 3), true), Features: all["features"].Features,
		Pictures: all["pictures-features"].Pictures, Info: info,
	}
	all["mapped-edges"] = &Model{Encoder: &Mapped{
		Maps: []Map{&Winner{Cols: 4}}, Encoder: withOtherBins(rng, randomHyperplanes(rng, 3, 4), false),
	}, Info: info}
	rng = rand.New(rand.NewPCG(13, 13))
	all["detailed"] = &Model{Encoder: &Detailed{
		Class: randomTrees(rng, 3, 4, 2, 3), Detail: randomProjection(rng, 2, 4, true),
	}, Info: info, Ranking: randomRanking(rng, 3, 20)}
	all["detailed-mapped"] = &Model{Encoder: &Detailed{
		Class: sampleMapped(rng)["kernel"], Detail: Compose(randomProjection(rng, 2, 4, false), &Affine{Weight: randomMatrix(rng, 4, 4), Unit: true}),
	}, Info: info}
	all["ranking"] = &Model{Encoder: randomTrees(rng, 3, 4, 2, 3), Info: info, Ranking: randomRanking(rng, 3, 5)}
	return all
}

func bytesOf(t testing.TB, m *Model) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestRoundTrip(t *testing.T) {
	for name, m := range samples() {
		b := bytesOf(t, m)
		got, err := Read(bytes.NewReader(b))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !reflect.DeepEqual(got.Info, m.Info) {
			// JSON escapes < in the options, which means the same.
			var a, b any
			_ = json.Unmarshal(got.Info.Runs[0].Options, &a)
			_ = json.Unmarshal(m.Info.Runs[0].Options, &b)
			got.Info.Runs[0].Options = m.Info.Runs[0].Options
			if !reflect.DeepEqual(a, b) || !reflect.DeepEqual(got.Info, m.Info) {
				t.Errorf("%s: info %+v became %+v", name, m.Info, got.Info)
			}
		}
		if got.Fingerprint() != m.Fingerprint() || got.Encoder.Kind() != m.Encoder.Kind() || !bytes.Equal(bytesOf(t, got), b) {
			t.Errorf("%s: another model came back", name)
		}
		x := randomRows(rand.New(rand.NewPCG(1, 1)), m.Encoder, 10)
		for i := range x.Rows {
			want, _ := m.EncodeRow(x.Row(i))
			if code, err := got.EncodeRow(x.Row(i)); err != nil || !slices.Equal(code, want) {
				t.Errorf("%s: row %d: %x, want %x", name, i, code, want)
			}
		}
	}
}

// TestDamage flips every byte in several ways, cuts the file everywhere, and adds a byte.
func TestDamage(t *testing.T) {
	opened := 0
	for name, m := range samples() {
		if name == "deep" || strings.HasPrefix(name, "mapped-") && name != "mapped-several" && name != "mapped-extension" {
			continue // large, and nothing new
		}
		b := bytesOf(t, m)
		for at := range b {
			flips := []byte{1, 0x10, 0x80, 0xff}
			if !needs.Full() { // one of them for each byte
				flips = flips[at%4:][:1]
			}
			opened += len(flips) + 1
			for _, flip := range flips {
				c := slices.Clone(b)
				c[at] ^= flip
				if _, err := Read(bytes.NewReader(c)); !errors.Is(err, hamming.ErrDamaged) && !errors.Is(err, hamming.ErrKind) {
					t.Fatalf("%s: byte %d flipped by %#x: %v", name, at, flip, err)
				}
			}
			if _, err := Read(bytes.NewReader(b[:at])); !errors.Is(err, hamming.ErrDamaged) && !errors.Is(err, hamming.ErrKind) {
				t.Fatalf("%s: cut at %d: %v", name, at, err)
			}
		}
		if _, err := Read(bytes.NewReader(append(b, 0))); !errors.Is(err, hamming.ErrDamaged) {
			t.Errorf("%s: a byte more: %v", name, err)
		}
	}
	t.Logf("count: damaged files opened %d", opened)
}

// piece is a section of a file made by hand.
type piece struct {
	tag     string
	payload []byte
}

// assemble makes a file of the version that its kind needs.
func assemble(ps []piece) []byte {
	var b bytes.Buffer
	version := uint32(1)
	if len(ps) > 0 && bytes.Contains(ps[0].payload, []byte(kindMapped)) {
		version = 3
	}
	if slices.ContainsFunc(ps, func(p piece) bool { return p.tag == "pict" }) {
		version = 4
		if slices.ContainsFunc(ps, func(p piece) bool { return p.tag == "base" && len(p.payload) > 16 }) {
			version = 5
		}
	}
	w := fileio.NewWriter(&b, fileio.Model, version)
	for _, p := range ps {
		_ = w.Section(p.tag, p.payload)
	}
	_ = w.Close()
	return b.Bytes()
}

func u32(v ...uint32) []byte {
	var b []byte
	for _, v := range v {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	return b
}

func f32(v ...float64) []byte {
	var b []byte
	for _, v := range v {
		b = append(b, u32(math.Float32bits(float32(v)))...)
	}
	return b
}

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

func head(kind string, dim, bits uint32) piece {
	return piece{"head", join([]byte{byte(len(kind))}, []byte(kind), u32(dim, bits))}
}

// stump is one tree of depth 1, written by hand.
func stump(column uint32, bin, leaves byte, weight uint32) []byte {
	return join([]byte{ensembleTag, 1}, u32(1, column), []byte{bin, leaves}, u32(weight))
}

// hostile are files with right checksums, and contents no trainer leaves.
func hostile() map[string][]piece {
	info, base, mark := piece{"info", []byte("{}")}, piece{"base", f32(0, 0, 1, 1)}, piece{"mark", make([]byte, 32)}
	h, bit := head(kindTrees, 2, 1), piece{"bit ", stump(1, 3, 1, 5)}
	with := func(b []byte) []piece { return []piece{h, info, base, {"bit ", b}, mark} }
	linear := func(b []byte) []piece { return []piece{head(kindLinear, 2, 1), info, base, {"bit ", b}, mark} }
	flat := func(base, b []byte) []piece {
		return []piece{head(kindProjection, 2, 1), info, {"base", base}, {"bit ", b}, mark}
	}
	quantiser := func(v ...float64) []piece { return []piece{h, info, {"base", f32(v...)}, bit, mark} }
	told := func(s string) []piece { return []piece{h, {"info", []byte(s)}, base, bit, mark} }
	nan, inf := math.NaN(), math.Inf(1)
	all := map[string][]piece{
		"wrong fingerprint":       {h, info, base, bit, mark},
		"nothing":                 {},
		"head missing":            {info, base, bit, mark},
		"info missing":            {h, base, bit, mark},
		"a bit too many":          {h, info, base, bit, bit, mark},
		"other order":             {h, base, info, bit, mark},
		"unknown section":         {h, info, base, {"what", nil}, bit, mark},
		"empty head":              {{"head", nil}, info, base, bit, mark},
		"kind beyond the head":    {{"head", append([]byte{200}, h.payload[1:]...)}, info, base, bit, mark},
		"unknown kind":            {head("magic", 2, 1), info, base, bit, mark},
		"2^24 dimensions claimed": {head(kindTrees, 1<<24, 1), info, base, bit, mark},
		"no bits":                 {head(kindTrees, 2, 0), info, base, mark},
		"4096 bits claimed":       {head(kindTrees, 2, 4096), info, base, bit, mark},
		"empty bit":               with(nil),
		"unknown function":        with([]byte{9}),
		"trees cut short":         with(stump(1, 3, 1, 5)[:5]),
		"a byte too many":         with(append(stump(1, 3, 1, 5), 0)),
		"zero trees":              with(join([]byte{ensembleTag, 1}, u32(0))),
		"2^32-1 trees":            with(join([]byte{ensembleTag, 8}, u32(1<<32-1))),
		"65,536 trees claimed":    with(join([]byte{ensembleTag, 8}, u32(maxTrees))),
		"depth 0":                 with(join([]byte{ensembleTag, 0}, u32(1), []byte{1}, u32(5))),
		"depth 9":                 with(join([]byte{ensembleTag, 9}, u32(1), make([]byte, 5*511+64), u32(5))),
		"depth 255":               with(join([]byte{ensembleTag, 255}, u32(1), make([]byte, 100))),
		"column out of range":     with(stump(2, 3, 1, 5)),
		"column 2^32-1":           with(stump(1<<32-1, 3, 1, 5)),
		"leaf beyond the tree":    with(stump(1, 3, 4, 5)),
		"weight 0":                with(stump(1, 3, 1, 0)),
		"weight negative":         with(stump(1, 3, 1, 1<<31)),
		"weights beyond 2^31":     with(join([]byte{ensembleTag, 1}, u32(2, 0, 0), []byte{0, 0, 1, 1}, u32(1<<31-1, 1))),
		"hyperplane among trees":  with(join([]byte{linearTag}, u32(2), make([]byte, 8), u32(1, 1))),
		"tree among hyperplanes":  linear(stump(1, 3, 1, 5)),
		"hyperplane too narrow":   linear(join([]byte{linearTag}, u32(1), make([]byte, 8), u32(1))),
		"hyperplane of 2^32-1":    linear(join([]byte{linearTag}, u32(1<<32-1), make([]byte, 8), u32(1, 1))),
		"hyperplane cut short":    linear([]byte{linearTag, 2, 0}),
		"hyperplane bias":         linear(join([]byte{linearTag}, u32(2, 0, 1<<31), u32(1, 1))),
		"quantiser NaN":           quantiser(0, nan, 1, 1),
		"quantiser infinite":      quantiser(0, 0, 1, inf),
		"quantiser empty range":   quantiser(0, 1, 1, 1),
		"quantiser turned round":  quantiser(0, 2, 1, 1),
		"quantiser too short":     quantiser(0, 1),
		"quantiser too long":      quantiser(0, 0, 0, 1, 1, 1),
		"projection mean NaN":     flat(f32(nan, 0), f32(0, 1, 1)),
		"projection mean short":   flat(f32(1), f32(0, 1, 1)),
		"projection weight NaN":   flat(nil, f32(0, 1, nan)),
		"projection too narrow":   flat(nil, f32(0, 1)),
		"info of another type":    told(`{"runs":7}`),
		"info nested":             told(strings.Repeat(`[`, 1e5)),
		"info nested options":     told(`{"runs":[{"bits":1,"options":` + strings.Repeat(`[`, 1e5) + `}]}`),
		"info huge":               told(strings.Repeat(" ", maxInfo) + "{}"),
		"info number 1e999":       told(`{"bits":[{"objective":1e999}]}`),
		"statistics of two bits":  told(`{"bits":[{},{}]}`),
		"many runs":               told(`{"runs":[` + strings.Repeat("{},", 1e5) + `{}]}`),
		"many names":              told(`{"features":[` + strings.Repeat(`"",`, 1e5) + `""]}`),
		"run without bits":        told(`{"runs":[{"bits":0}]}`),
		"runs out of order":       told(`{"runs":[{"bits":1},{"bits":1}]}`),
		"figures of no rows":      told(`{"learned_items":{"map":0.5}}`),
		"sketch of no rows":       told(`{"sketch":""}`),
		"sketch out of order":     told(`{"sketch":"AAAAAAAAAAEAAAAAAAAAAQ=="}`),
		"sketch too large":        told(`{"sketch":"` + strings.Repeat("A", 10928) + `"}`),
	}
	detailed := func(base []byte) []piece {
		return []piece{head(kindDetailed, 2, 2), info, {"feat", nil}, {"pict", nil}, {"base", base}, {"bit ", stump(1, 3, 1, 5)},
			{"bit ", f32(0, 1, 1)}, {"rank", nil}, mark}
	}
	part := func(kind string, base []byte) []byte {
		size := u32(uint32(len(base)), 0)
		return join([]byte{uint8(len(kind))}, []byte(kind), size, base)
	}
	class, detail := part(kindTrees, f32(0, 0, 1, 1)), part(kindProjection, nil)
	all["detail: wrong fingerprint"] = detailed(join(u32(1), class, detail))
	all["detail: none"] = detailed(nil)
	all["detail: cut short"] = detailed(join(u32(1), class))
	all["detail: too long"] = detailed(join(u32(1), class, detail, []byte{0}))
	all["detail: no class bits"] = detailed(join(u32(0), class, detail))
	all["detail: 2^32-1 class bits"] = detailed(join(u32(1<<32-1), class, detail))
	all["detail: within detail"] = detailed(join(u32(1), part(kindDetailed, join(u32(1), class, detail)), detail))
	all["detail: trees"] = detailed(join(u32(1), class, class))
	all["detail: a base of 2^62 bytes"] = detailed(join(u32(1), []byte{5}, []byte(kindTrees), u32(0, 1<<30)))
	for name, base := range hostileMaps() {
		all["map: "+name] = []piece{head(kindMapped, 2, 1), info, {"feat", nil}, {"base", base}, {"bit ", f32(0, 1, 1)}, mark}
	}
	pictured := func(prepared ...byte) []piece {
		return []piece{h, info, {"feat", nil}, {"pict", prepared}, base, bit, mark}
	}
	for name, b := range map[string][]byte{
		"wrong fingerprint": append(u32(2, 1), 1, 0), "none": nil, "too short": append(u32(2, 1), 1), "too long": append(u32(2, 1), 1, 0, 0),
		"unknown flag": append(u32(2, 1), 1, 16), "no width": append(u32(0, 1), 1, 0), "huge": append(u32(1<<32-1, 1<<32-1), 1, 0),
		"too many values": append(u32(65536, 65536), 1, 0), "two channels": append(u32(1, 1), 2, 0), "planar grey": append(u32(2, 1), 1, 1),
		"another dimension": append(u32(2, 2), 1, 0),
	} {
		all["pictures: "+name] = pictured(b...)
	}
	all["pictures without feat"] = []piece{h, info, {"pict", append(u32(2, 1), 1, 0)}, base, bit, mark}
	pixels := feature.Append(nil, &feature.Pixels{Width: 1, Height: 2, Channels: 1})
	all["pictures of another size than the features"] = []piece{h, info, {"feat", pixels}, {"pict", append(u32(2, 1), 1, 0)}, base, bit, mark}
	for name, more := range map[string][]byte{
		"wrong fingerprint": {1}, "no flags": {0}, "unknown flag": {4}, "no edges": {2, 0, 0}, "edges cut short": {2, 1, 0},
		"edges too long": append([]byte{2, 1}, append(f32(1), 0, 0)...), "edge NaN": append([]byte{2, 0, 1}, f32(nan)...),
		"edges fall": append([]byte{2, 0, 2}, f32(2, 1)...), "255 edges and missing": append([]byte{3, 0, 255}, make([]byte, 1020)...),
	} {
		all["bins: "+name] = []piece{h, info, {"feat", nil}, {"pict", nil}, {"base", append(f32(0, 0, 1, 1), more...)}, bit, mark}
	}
	all["mapped without feat"] = []piece{head(kindMapped, 2, 1), info, {"base", hostileMaps()["good"]}, {"bit ", f32(0, 1, 1)}, mark}
	all["mapped, unknown features"] = []piece{head(kindMapped, 2, 1), info, {"feat", []byte{9}}, {"base", hostileMaps()["good"]}, {"bit ", f32(0, 1, 1)}, mark}
	return all
}

// TestHostileFiles: no file makes the reader take more than a multiple of its length, in memory or in the loops that
// fill it. Such a file is read within milliseconds; a minute has passed only where it hangs.
func TestHostileFiles(t *testing.T) {
	for name, ps := range hostile() {
		b := assemble(ps)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := time.Now()
		_, err := Read(bytes.NewReader(b))
		took := time.Since(start)
		runtime.ReadMemStats(&after)
		if !errors.Is(err, hamming.ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20+100*uint64(len(b)) { // all that was ever taken; most is given back
			t.Errorf("%s: %d bytes allocated for a file of %d", name, n, len(b))
		}
		if took > time.Minute {
			t.Errorf("%s: took %v", name, took)
		}
	}
	// The file all of these come from is a good one once its fingerprint is right.
	e := &Binned{Quantizer: vectors.Quantizer{Lo: []float32{0, 0}, Hi: []float32{1, 1}}, Functions: []Function{
		&Ensemble{Depth: 1, Feature: []uint32{1}, Bin: []uint8{3}, Leaf: []uint64{1}, Weight: []int32{5}}}}
	mark := e.Fingerprint(1)
	ps := hostile()["wrong fingerprint"]
	ps[len(ps)-1].payload = mark[:]
	if _, err := Read(bytes.NewReader(assemble(ps))); err != nil {
		t.Errorf("the good file: %v", err)
	}
}

func TestFingerprintIsAChain(t *testing.T) {
	seen := map[hamming.Fingerprint]string{}
	for name, m := range samples() {
		for bits := 1; bits <= m.Encoder.Bits(); bits++ {
			p := m.Prefix(bits)
			if err := p.Check(); err != nil {
				t.Errorf("%s: prefix of %d bits: %v", name, bits, err)
			}
			f := p.Fingerprint()
			if m.Features == nil && m.Pictures == nil && f != m.Encoder.Fingerprint(bits) {
				t.Errorf("%s: a prefix of %d bits has another fingerprint", name, bits)
			}
			if old, ok := seen[f]; ok {
				t.Errorf("%s and %s have the same fingerprint", name, old)
			}
			seen[f] = name
			x := randomRows(rand.New(rand.NewPCG(1, 1)), m.Encoder, 1)
			long, _ := m.EncodeRow(x.Data)
			short, _ := p.EncodeRow(x.Data)
			if short[0] != long[0]>>(64-bits)<<(64-bits) {
				t.Errorf("%s: the first %d bits of %x are %x", name, bits, long, short)
			}
		}
	}
	f := samples()["trees"].Fingerprint()
	if len(f.String()) != 16 || len(f.Full()) != 64 || !strings.HasPrefix(f.Full(), f.String()) {
		t.Error(f.String(), f.Full())
	}
	m := samples()["trees"]
	if p := m.Prefix(1).Info; len(p.Runs) != 1 || p.Runs[0].Bits != 1 || len(p.Bits) != 1 || m.Info.Runs[0].Bits != 2 {
		t.Errorf("info of a prefix: %+v", p)
	}
	m.Info = Info{Method: "other"}
	if m.Fingerprint() != f {
		t.Error("the fingerprint depends on more than the functions")
	}
}

func TestWriteRefuses(t *testing.T) {
	for name, spoil := range map[string]func(m *Model){
		"NaN":          func(m *Model) { m.Info.Bits[0].Objective = math.NaN() },
		"no UTF-8":     func(m *Model) { m.Info.Classes[0] = "\xff" },
		"long names":   func(m *Model) { m.Info.Features[0] = strings.Repeat("x", maxInfo) },
		"no functions": func(m *Model) { m.Encoder.(*Binned).Functions = nil },
		"mixed":        func(m *Model) { m.Encoder.(*Binned).Functions[1] = &Linear{Weight: make([]int32, 4)} },
		"many bits": func(m *Model) {
			e := m.Encoder.(*Binned)
			e.Functions, m.Info = slices.Repeat(e.Functions[:1], hamming.MaxBits+1), Info{}
		},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "m.hgm")
		m := samples()["trees"]
		if err := WriteFile(path, m); err != nil {
			t.Fatal(err)
		}
		old, _ := os.ReadFile(path)
		spoil(m)
		if err := WriteFile(path, m); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
		now, _ := os.ReadFile(path)
		if entries, _ := os.ReadDir(dir); !bytes.Equal(old, now) || len(entries) != 1 {
			t.Errorf("%s: the old file changed, or others are left: %v", name, entries)
		}
	}
}

func TestErrorsNameFileAndSection(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.hgm")
	b := bytesOf(t, samples()["trees"])
	b[bytes.Index(b, []byte("base"))+20]++
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := ReadFile(path)
	if !errors.Is(err, fileio.ErrDamaged) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), `"base"`) {
		t.Errorf("%v", err)
	}
	if _, err := ReadFile(path + "x"); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	var w bytes.Buffer
	_ = fileio.NewWriter(&w, fileio.Model, fileVersion+1).Close()
	if _, err := Read(&w); !errors.Is(err, hamming.ErrVersion) {
		t.Errorf("newer version: %v", err)
	}
}

// payload finds a section of a whole file.
func payload(b []byte, tag string) []byte {
	for at := 16; at+12 <= len(b); {
		end := at + 12 + int(binary.LittleEndian.Uint64(b[at+4:]))
		if string(b[at:at+4]) == tag {
			return b[at+12 : end]
		}
		at = end + 4
	}
	return nil
}
