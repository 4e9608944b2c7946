//go:build (linux || darwin) && (amd64 || arm64)

package gpu

import (
	"testing"
	"time"

	"hashgrove/internal/fasthash/boost"
)

// BenchmarkBit learns one bit of 200 trees on the device, and on the cores.
func BenchmarkBit(b *testing.B) {
	d := open(b)
	for _, s := range []growerCase{
		{name: "20000x320", rows: 20_000, columns: 320, options: boost.Options{NodeFeatures: -1}},
		{name: "50000x320", rows: 50_000, columns: 320, options: boost.Options{NodeFeatures: -1}},
		{name: "50000x320-default", rows: 50_000, columns: 320,
			options: boost.Options{Boost: boost.Logistic, Depth: 6, Rate: 0.5, ColumnShare: 0.5}},
		{name: "50000x11200", rows: 50_000, columns: 11_200},
		{name: "50000x11200-all", rows: 50_000, columns: 11_200, options: boost.Options{NodeFeatures: -1}},
		{name: "1000000x320", rows: 1_000_000, columns: 320, options: boost.Options{NodeFeatures: -1}},
	} {
		b.Run(s.name, func(b *testing.B) {
			x, z := mixture(s.rows, s.columns)
			o, err := s.options.WithDefaults()
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
					if _, err := t.Fit(b.Context(), z, nil, 1, bit); err != nil {
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
	for _, note := range d.notes {
		b.Log(note)
	}
}
