//go:build (linux || darwin) && (amd64 || arm64)

package gpu

import (
	"testing"
	"time"

	"hashgrove/internal/fasthash/boost"
	"hashgrove/internal/fasthash/boost/growertest"
)

// BenchmarkBit learns one bit of 200 trees on the device, and on the cores.
func BenchmarkBit(b *testing.B) {
	d := open(b)
	for _, s := range growertest.Sizes {
		b.Run(s.Name, func(b *testing.B) {
			x, z := growertest.Mixture(s.Rows, s.Columns)
			o, err := s.Options.WithDefaults()
			if err != nil {
				b.Fatal(err)
			}
			seconds := map[string]float64{}
			for name, device := range map[string]boost.Device{"device": d, "cores": nil} {
				t, err := boost.NewOn(b.Context(), device, x, o, 0)
				if err != nil {
					b.Fatal(err)
				}
				best := 1e9
				for bit := range 4 {
					began := time.Now()
					if _, _, _, err := t.Fit(b.Context(), z, nil, 1, bit); err != nil {
						b.Fatal(err)
					}
					best = min(best, time.Since(began).Seconds())
					if best > 5 {
						break
					}
				}
				seconds[name] = best
				t.Close()
			}
			for b.Loop() {
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(1000*seconds["device"], "ms-device")
			b.ReportMetric(1000*seconds["cores"], "ms-cores")
			b.ReportMetric(seconds["cores"]/seconds["device"], "ratio")
		})
	}
	for _, note := range d.Notes() {
		b.Log(note)
	}
}
