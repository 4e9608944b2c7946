package hamming

// Match tells in which bits two codes agree and differ.
type Match struct {
	Distance int   `json:"distance"`
	Agree    []int `json:"agree"`
	Differ   []int `json:"differ"`
}

// Compare explains the distance of two codes of the given length.
func Compare(a, b []uint64, width int) Match {
	if len(a) != len(b) || len(a) != (width+63)/64 {
		panic("hamming: codes of different lengths")
	}
	m := Match{Agree: []int{}, Differ: []int{}}
	for bit := range width {
		if (a[bit>>6]^b[bit>>6])>>(63-bit&63)&1 == 0 {
			m.Agree = append(m.Agree, bit)
		} else {
			m.Differ = append(m.Differ, bit)
		}
	}
	m.Distance = len(m.Differ)
	return m
}
