package hamming

import "testing"

func TestFingerprintsAreReadBack(t *testing.T) {
	f := Fingerprint{1, 2, 31: 250}
	if g, err := ParseFingerprint(f.Full()); g != f || err != nil {
		t.Errorf("%v became %v, %v", f, g, err)
	}
	for _, bad := range []string{"", f.String(), f.Full() + "00", "x" + f.Full()[1:]} {
		if _, err := ParseFingerprint(bad); err == nil {
			t.Errorf("%q is a fingerprint", bad)
		}
	}
}
