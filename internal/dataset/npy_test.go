package dataset

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// npyOf is an npy file of version 1.
func npyOf(descr string, fortran bool, shape, data string) string {
	return npyVersion(1, fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': (%s), }", descr, map[bool]string{true: "True", false: "False"}[fortran], shape)) + data
}

func npyVersion(version byte, dictionary string) string {
	dictionary += strings.Repeat(" ", 63-(len(dictionary)+11)%64+1) + "\n"
	length := binary.LittleEndian.AppendUint16(nil, uint16(len(dictionary)))
	if version > 1 {
		length = binary.LittleEndian.AppendUint32(nil, uint32(len(dictionary)))
	}
	return "\x93NUMPY" + string([]byte{version, 0}) + string(length) + dictionary
}

func float32s(values ...float32) string { return packed(binary.LittleEndian, values) }

func packed(order binary.ByteOrder, values any) string {
	var b bytes.Buffer
	if err := binary.Write(&b, order, values); err != nil {
		panic(err)
	}
	return b.String()
}

func npzOf(method uint16, members ...string) string {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(members); i += 2 {
		w, err := z.CreateHeader(&zip.FileHeader{Name: members[i] + ".npy", Method: method})
		if err != nil {
			panic(err)
		}
		w.Write([]byte(members[i+1]))
	}
	z.Close()
	return b.String()
}

// TestHalf compares all 65,536 values with the definition.
func TestHalf(t *testing.T) {
	for i := range 1 << 16 {
		h := uint16(i)
		sign := 1 - 2*float64(h>>15)
		exponent, mantissa := int(h>>10&31), float64(h&1023)
		var want float64
		switch {
		case exponent == 31 && mantissa > 0:
			want = math.NaN()
		case exponent == 31:
			want = math.Inf(int(sign))
		case exponent == 0:
			want = sign * mantissa * math.Pow(2, -24)
		default:
			want = sign * (1 + mantissa/1024) * math.Pow(2, float64(exponent-15))
		}
		got := Half(h)
		if float64(got) != want && !(math.IsNaN(float64(got)) && math.IsNaN(want)) || math.Signbit(float64(got)) != (h>>15 == 1) {
			t.Fatalf("Half(%#04x) = %v, want %v", h, got, want)
		}
	}
}

// TestNpyTypes reads the same values from every type in both orders of bytes.
func TestNpyTypes(t *testing.T) {
	dir := t.TempDir()
	for descr, values := range map[string]any{
		"f2": []uint16{0x3c00, 0x4000, 0x4200, 0x4400}, "f4": []float32{1, 2, 3, 4}, "f8": []float64{1, 2, 3, 4},
		"i1": []int8{1, 2, 3, 4}, "i2": []int16{1, 2, 3, 4}, "i4": []int32{1, 2, 3, 4}, "i8": []int64{1, 2, 3, 4},
		"u1": []uint8{1, 2, 3, 4}, "u2": []uint16{1, 2, 3, 4}, "u4": []uint32{1, 2, 3, 4}, "u8": []uint64{1, 2, 3, 4},
	} {
		for order, bytes := range map[string]binary.ByteOrder{"<": binary.LittleEndian, ">": binary.BigEndian, "=": binary.LittleEndian} {
			path := fileOf(t, dir, "a.npy", npyOf(order+descr, false, "2, 2", packed(bytes, values)))
			if got := dumpedText(path, "", Spec{}); got != "npy 2x2\n1 2\n3 4\n" {
				t.Errorf("%s%s: read %q", order, descr, got)
			}
			labels, err := readValues(fileOf(t, dir, "y.npy", npyOf(order+descr, false, "4,", packed(bytes, values))))
			if err != nil || !slices.Equal(labels, []string{"1", "2", "3", "4"}) {
				t.Errorf("%s%s: labels %q, %v", order, descr, labels, err)
			}
		}
	}
	runCases(t, []formatCase{
		{"negative", "a.npy", npyOf("|i1", false, "1, 2", "\xff\x80"), Spec{}, "npy 1x2; -1 -128"},
		{"bool", "a.npy", npyOf("|b1", false, "1, 2", "\x00\x01"), Spec{}, "npy 1x2; 0 1"},
		{"int64", "a.npy", npyOf("<i8", false, "1, 2", packed(binary.LittleEndian, []int64{math.MinInt64, -1})), Spec{}, "npy 1x2; -9.223372e+18 -1"},
		{"NaN is told later", "a.npy", npyOf("<f4", false, "1, 3", float32s(float32(math.NaN()), float32(math.Inf(-1)), -0)), Spec{}, "npy 1x3; NaN -Inf 0"},
		{"too large", "a.npy", npyOf("<f8", false, "2, 2", packed(binary.LittleEndian, []float64{1, 1e39, math.Inf(1), 3.4028235e38})), Spec{},
			"npy 2x2; bad: out-of-range at:a.npy:1:2 float32; +Inf 3.4028235e+38"},
	})
}

func TestNpyShapes(t *testing.T) {
	six := float32s(1, 2, 3, 4, 5, 6)
	runCases(t, []formatCase{
		{"vector", "a.npy", npyOf("<f4", false, "6,", six), Spec{}, "npy 6x1; 1; 2; 3; 4; 5; 6"},
		{"pictures", "a.npy", npyOf("<f4", false, "1, 2, 3", six), Spec{}, "npy 1x6; 1 2 3 4 5 6"},
		{"Fortran", "a.npy", npyOf("<f4", true, "2, 3", six), Spec{}, "npy 2x3; 1 3 5; 2 4 6"},
		{"Fortran vector", "a.npy.gz", gzipped(npyOf("<f4", true, "6, 1", six)), Spec{}, "npy 6x1; 1; 2; 3; 4; 5; 6"},
		{"Fortran in gzip", "a.npy.gz", gzipped(npyOf("<f4", true, "2, 3", six)), Spec{},
			"error: fortran-packed a.npy.gz np.ascontiguousarray(x)"},
		{"no rows", "a.npy", npyOf("<f4", false, "0, 3", ""), Spec{}, "npy 0x3"},
		{"version 2", "a.npy", npyVersion(2, "{'shape': (1L, 2L), 'fortran_order': False, 'descr': '<f4'}") + float32s(1, 2), Spec{}, "npy 1x2; 1 2"},
		{"version 3", "a.npy", npyVersion(3, "{\"descr\": \"<f4\", \"fortran_order\": False, \"shape\": (1,2)}") + float32s(1, 2), Spec{}, "npy 1x2; 1 2"},
	})
}

func TestNpyRefusals(t *testing.T) {
	six := float32s(1, 2, 3, 4, 5, 6)
	head := func(s string) string { return npyVersion(1, s) }
	runCases(t, []formatCase{
		{"pickle", "a.npy", npyOf("|O", false, "2,", "\x80\x03]q\x00."), Spec{},
			"error: python-objects a.npy np.save np.stack(x).astype(np.float32)"},
		{"structured", "a.npy", head("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}"), Spec{},
			"error: structured-type a.npy"},
		{"text", "a.npy", npyOf("<U1", false, "1,", "a\x00\x00\x00"), Spec{}, "error: text-values a.npy <U1"},
		{"complex", "a.npy", npyOf("<c8", false, "1,", "12345678"), Spec{}, `error: unread-type a.npy "<c8" astype(np.float32)`},
		{"long double", "a.npy", npyOf("<f16", false, "1,", "1234567812345678"), Spec{}, `error: unread-type a.npy "<f16" astype(np.float32)`},
		{"unknown", "a.npy", npyOf("<f", false, "1,", ""), Spec{}, `error: unknown-type a.npy "<f" unknown`},
		{"datetime", "a.npy", npyOf("<M8[ns]", false, "1,", "12345678"), Spec{}, `error: unknown-type a.npy "<M8[ns]" unknown`},
		{"scalar", "a.npy", npyOf("<f4", false, "", "1234"), Spec{}, "error: single-value a.npy"},
		{"no values", "a.npy", npyOf("<f4", false, "3, 0", ""), Spec{}, "error: no-values a.npy"},
		{"cut off", "a.npy", npyOf("<f4", false, "4, 2", six), Spec{}, "error: cut-off a.npy 3 4"},
		{"too long", "a.npy", npyOf("<f4", false, "2, 2", six), Spec{}, "error: trailing-bytes a.npy 8 2"},
		{"too long in gzip", "a.npy.gz", gzipped(npyOf("<f4", false, "2, 2", six)), Spec{}, "npy 2x2; 1 2; 3 4; error: trailing-bytes a.npy.gz"},
		{"huge", "a.npy", npyOf("<f4", false, "4294967296, 4294967296", six), Spec{}, "error: row-too-long a.npy 16777216"},
		{"many", "a.npy", npyOf("<f4", false, "281474976710656, 16777216", six), Spec{}, fmt.Sprintf("error: cut-off a.npy 0 %d", min(int64(1)<<48, math.MaxInt))},
		{"version 9", "a.npy", npyVersion(9, "{}"), Spec{}, "error: unknown-version a.npy 9 1 3"},
		{"code", "a.npy", head("{'descr': __import__('os'), 'fortran_order': False, 'shape': (1,)}"), Spec{},
			"error: missing-key a.npy descr fortran_order shape"},
		{"missing key", "a.npy", head("{'descr': '<f4', 'shape': (1,)}"), Spec{}, "error: missing-key a.npy descr fortran_order shape"},
		{"long header", "a.npy", "\x93NUMPY\x02\x00\xff\xff\xff\xff{", Spec{}, "error: header-too-long a.npy 1048576"},
		{"short header", "a.npy", "\x93NUMPY\x01\x00\xff\xff{", Spec{}, "error: cut-off a.npy"},
	})
}

func TestNpz(t *testing.T) {
	x := npyOf("<f4", false, "2, 2", float32s(1, 2, 3, 4))
	fortran := npyOf("<f4", true, "2, 2", float32s(1, 2, 3, 4))
	y := npyOf("<i8", false, "2,", packed(binary.LittleEndian, []int64{7, math.MaxInt64}))
	names := npyOf("<U2", false, "2,", packed(binary.LittleEndian, []rune("zaé\x00")))
	ids := npyOf("|S3", false, "2,", "i1\x00i22")
	tags := npyOf("|u1", false, "2, 3", "\x01\x00\x01\x00\x00\x00")
	bad := npyOf("|u1", false, "2, 3", "\x01\x02\x01\x00\x00\x00")
	short := npyOf("<i8", false, "1,", packed(binary.LittleEndian, []int64{7}))
	object := npyOf("|O", false, "2,", "\x80.")
	runCases(t, []formatCase{
		{"usual names", "a.npz", npzOf(zip.Deflate, "X", x, "y", y, "ids", ids), Spec{}, "npz 2x2; 1 2 label 7 id i1; 3 4 label 9223372036854775807 id i22"},
		{"stored", "a.npz", npzOf(zip.Store, "arr_0", x), Spec{}, "npz 2x2; 1 2; 3 4"},
		{"asked for", "a.npz", npzOf(zip.Store, "one", x, "two", fortran, "who", names), Spec{Vector: "two", Label: "who"}, "npz 2x2; 1 3 label za; 2 4 label é"},
		{"tags", "a.npz", npzOf(zip.Store, "X", x, "tags", tags), Spec{}, "npz 2x2; 1 2 tags 0/2; 3 4 tags "},
		{"text tags", "a.npz", npzOf(zip.Store, "X", x, "t", npyOf("|S3", false, "2,", "a,bc\x00\x00")), Spec{Tags: "t"}, "npz 2x2; 1 2 tags a/b; 3 4 tags c"},
		{"bad tags", "a.npz", npzOf(zip.Store, "X", x, "tags", bad), Spec{}, "error: bad-tags a.npz tags: 1 2 0 1"},
		{"which", "a.npz", npzOf(zip.Store, "one", x, "two", x), Spec{}, "error: which-vector set:Vector a.npz one two"},
		{"several, one usual", "a.npz", npzOf(zip.Store, "one", x, "data", x), Spec{}, "npz 2x2; 1 2; 3 4"},
		{"missing", "a.npz", npzOf(zip.Store, "X", x), Spec{Label: "q"}, `error: no-such-array a.npz "q" X`},
		{"lengths", "a.npz", npzOf(zip.Store, "X", x, "y", short), Spec{}, "error: wrong-count a.npz y: 1 2"},
		{"wide labels", "a.npz", npzOf(zip.Store, "X", x, "y", x), Spec{}, "error: not-one-value a.npz y: 2"},
		{"Fortran stored", "a.npz", npzOf(zip.Store, "X", fortran), Spec{}, "npz 2x2; 1 3; 2 4"},
		{"Fortran deflated", "a.npz", npzOf(zip.Deflate, "X", fortran), Spec{},
			"error: fortran-packed a.npz X: np.ascontiguousarray(x)"},
		{"pickle", "a.npz", npzOf(zip.Deflate, "X", object), Spec{},
			"error: python-objects a.npz X: np.save np.stack(x).astype(np.float32)"},
		{"bad value", "a.npz", npzOf(zip.Deflate, "X", npyOf("<f8", false, "2, 1", packed(binary.LittleEndian, []float64{1e300, 1})), "y", y), Spec{},
			"npz 2x1; bad: out-of-range at:a.npz,_array_X:1:1 float32; 1 label 9223372036854775807"},
		{"gzip", "a.npz.gz", gzipped(npzOf(zip.Deflate, "X", x)), Spec{},
			"error: packed-inside a.npz.gz gzip"},
		{"cut off", "a.npz", npzOf(zip.Deflate, "X", x)[:100], Spec{}, "error: not-a-zip a.npz"},
		{"other zip", "a.npz", strings.ReplaceAll(npzOf(zip.Store, "X", x), ".npy", ".txt"), Spec{}, `error: not-npz a.npz "X.txt"`},
	})
}
