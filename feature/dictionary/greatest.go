package dictionary

// The kernel that most of the time of learning goes to, as what it means. greatest_amd64.go has the same with AVX2.

// greatestGo finds in every column the value that is greatest without its sign, and its row: the first of equals. A
// column of zeros gives 0 and row 0.
func greatestGo(value *[16]float32, index *[16]int32, z []float32) {
	*value, *index = [16]float32{}, [16]int32{}
	for i := 0; len(z) > 0; i, z = i+1, z[16:] {
		for j := range value {
			if v := z[j]; max(v, -v) > max(value[j], -value[j]) {
				value[j], index[j] = v, int32(i)
			}
		}
	}
}
