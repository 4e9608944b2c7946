package export

import (
	"embed"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// parts holds the functions of generated files, each in both languages.
//
//go:embed parts/*.c parts/*.go.txt
var parts embed.FS

// partNames lists the functions in the order in which C needs them, each with those that it calls.
var partNames = []struct {
	name  string
	needs []string
}{
	{"float", nil}, {"settle", nil}, {"times", []string{"float"}}, {"affine", []string{"times", "settle"}}, {"exp", nil},
	{"distances", []string{"times"}}, {"kernel", []string{"exp", "float", "settle"}}, {"nearest", []string{"exp"}},
	{"bytes", []string{"float"}}, {"curves", []string{"float", "settle"}}, {"winner", nil},
	{"shares", []string{"exp", "settle"}}, {"copy", nil}, {"fill", []string{"float"}}, {"trees", nil},
	{"hyperplanes", nil}, {"projection", []string{"float"}}, {"boosters", nil},
}

// functions writes the functions that are called.
func (p *source) functions() {
	for _, part := range slices.Backward(partNames) {
		if p.used[part.name] {
			for _, name := range part.needs {
				p.used[name] = true
			}
		}
	}
	if p.to == Go {
		fmt.Fprintf(p.out, "// widest is the length of the longest vector on the way to a code.\nconst widest = %d\n\n",
			p.widest)
		fmt.Fprint(p.out, "var infinity = float32(math.Inf(1))\n\n")
	} else if p.rounds() {
		fmt.Fprint(p.out, beforeSums)
		fmt.Fprintf(p.out, "/* The length of the longest vector on the way to a code. */\n#define HG_WIDEST %d\n\n", p.widest)
	}
	for _, part := range partNames {
		if !p.used[part.name] {
			continue
		}
		text, err := parts.ReadFile("parts/" + part.name + p.either(".go.txt", ".c"))
		if err != nil {
			panic(err) // the files are part of the program
		}
		_, _ = p.out.Write(text) // errors stay until Flush
		fmt.Fprintln(p.out)
	}
}

// either returns what a thing is called in Go or in C.
func (p *source) either(inGo, inC string) string {
	if p.to == Go {
		return inGo
	}
	return inC
}

// room makes room for a vector of some length.
func (p *source) room(n int) { p.widest = max(p.widest, n) }

// buffer declares a vector.
func (p *source) buffer(n int) string { return p.declare("y", "float32", n) }

// doubles declares a vector of float64.
func (p *source) doubles(n int) string { return p.declare("d", "float64", n) }

func (p *source) declare(letter, kind string, n int) string {
	p.room(n)
	name := letter + strconv.Itoa(p.steps)
	if p.to == Go {
		fmt.Fprintf(&p.buffers, "\tvar %s [%d]%s\n", name, n, kind)
	} else {
		fmt.Fprintf(&p.buffers, "  %s %s[%d];\n", cTypes[kind], name, n)
	}
	return name
}

// from returns the part of a vector from some place on.
func (p *source) from(x string, at int) string {
	return x + p.either("["+strconv.Itoa(at)+":]", " + "+strconv.Itoa(at))
}

// call adds a call of a function of a part.
func (p *source) call(part, name string, args ...any) {
	p.used[part] = true
	list := make([]string, len(args))
	for i, arg := range args {
		switch v := arg.(type) {
		case bool:
			list[i] = p.either(strconv.FormatBool(v), map[bool]string{true: "1", false: "0"}[v])
		case string:
			isVector := v[0] == 'x' || v[0] == 'y' || v[0] == 'd' || v == "code"
			if list[i] = v; p.to == Go && isVector && !strings.HasSuffix(v, "]") {
				list[i] += "[:]"
			}
		default:
			list[i] = fmt.Sprint(v)
		}
	}
	fmt.Fprintf(&p.calls, "%s%s(%s)%s\n", p.either("\t", "  hg_"), name, strings.Join(list, ", "), p.either("", ";"))
}

// cTypes has the names of types in C.
var cTypes = map[string]string{
	"float32": "float", "float64": "double", "int8": "int8_t", "int32": "int32_t", "int64": "int64_t",
	"uint8": "uint8_t", "uint32": "uint32_t", "uint64": "uint64_t",
}

// constants writes a table that a function knows by its name.
func (p *source) constants(kind, name string, values iter.Seq[string]) {
	end := "}\n\n"
	if p.to == Go {
		fmt.Fprintf(p.out, "var %s = [...]%s{\n", name, kind)
	} else {
		fmt.Fprintf(p.out, "static const %s hg_%s[] = {\n", cTypes[kind], underscored(name))
		end = "};\n\n"
	}
	width := 0
	for v := range values {
		if width > 100 {
			_ = p.out.WriteByte('\n') // errors stay until Flush
			width = 0
		}
		if width == 0 {
			_ = p.out.WriteByte('\t')
		}
		_, _ = p.out.WriteString(v)
		_ = p.out.WriteByte(',')
		width += len(v) + 1
	}
	fmt.Fprint(p.out, "\n", end)
}

// underscored turns firstTree into first_tree.
func underscored(name string) string {
	var b strings.Builder
	for _, r := range name {
		if unicode.IsUpper(r) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// table writes a table of the current step and returns how a call names it.
func (p *source) table(kind, name string, values iter.Seq[string]) string {
	name += strconv.Itoa(p.steps)
	p.constants(kind, name, values)
	return p.either(name+"[:]", "hg_"+name)
}

// floats writes a table of float32 as their bits, the shortest exact form; nil stays nil.
func (p *source) floats(name string, list []float32) string {
	if list == nil {
		return p.either("nil", "0")
	}
	return p.table("uint32", name, numbers(list, func(v float32) string {
		return "0x" + strconv.FormatUint(uint64(math.Float32bits(v)), 16)
	}))
}

func (p *source) integers(name string, list []uint32) string {
	return p.table("uint32", name, numbers(list, decimal))
}

func (p *source) integers8(name string, list []int8) string {
	return p.table("int8", name, numbers(list, decimal))
}

// numbers returns the texts of values.
func numbers[T any](list []T, text func(T) string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, v := range list {
			if !yield(text(v)) {
				return
			}
		}
	}
}

func decimal[T int8 | int32 | uint32](v T) string { return strconv.FormatInt(int64(v), 10) }

// long formats an integer that may need 64 bits.
func (p *source) long(v int64) string {
	return strconv.FormatInt(v, 10) + p.either("", "LL")
}

// word formats 64 bits.
func (p *source) word(v uint64) string { return "0x" + strconv.FormatUint(v, 16) + p.either("", "u") }

// number formats a float32 exactly: in hexadecimal, or by name if infinite.
func (p *source) number(v float32) string {
	if math.IsInf(float64(v), 0) {
		return p.infinite(v > 0, "infinity")
	}
	return strconv.FormatFloat(float64(v), 'x', -1, 32) + p.either("", "f")
}

// double is number for float64.
func (p *source) double(v float64) string {
	if math.IsInf(v, 0) {
		return p.infinite(v > 0, "math.Inf(1)")
	}
	return strconv.FormatFloat(v, 'x', -1, 64)
}

func (p *source) infinite(positive bool, inGo string) string {
	if name := p.either(inGo, "INFINITY"); positive {
		return name
	} else {
		return "-" + name
	}
}
