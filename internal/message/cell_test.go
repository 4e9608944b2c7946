package message

import "testing"

// TestCells: no text becomes a formula, and each is read as it was written.
func TestCells(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "a": "a", "a=b": "a=b", "'": "'", "'a": "'a", "=1+1": "'=1+1", "@A1": "'@A1", "+1": "+1", "-2.5e3": "-2.5e3",
		"-2+3": "'-2+3", "\t=1": "'\t=1", "'=1": "''=1", "''-x": "'''-x", "'-1": "''-1",
	} {
		if got := Cell(text); got != want || OfCell(got) != text {
			t.Errorf("%q is written as %q and read as %q, want %q", text, got, OfCell(got), want)
		}
	}
}
