package report_test

import (
	"math"
	"testing"
	"time"

	"hashgrove/internal/compare/report"
	"hashgrove/internal/eval"
)

// small returns a report with one of everything.
func small() report.Data {
	return report.Data{
		Title:   "Three ways to hash a shop",
		Date:    time.Date(2026, 3, 14, 15, 9, 0, 0, time.UTC),
		Version: "v0.1.0",
		Machine: "2 cores",
		Command: "hashgrove compare shop.npy --bits 16,32",
		Dataset: report.Dataset{
			Name: "shop.npy", Base: 6000, Queries: 1000, Dim: 784, Classes: 2, Similar: "same class",
			HeldOut: []string{"hat"}, Notes: []string{"Rows with NaN were left out."},
		},
		Advice:   []string{"Use FastHash with 32 bits.", "It finds more than float search and needs a 784th of the memory."},
		Warnings: []string{"the base has only 12 distinct codes", "the base has only 12 distinct codes"},
		Rows: []eval.Row{
			result("LSH", 16, 0.30), result("LSH", 32, 0.35),
			supervised(result("FastHash", 16, 0.71)), recommended(supervised(result("FastHash", 32, 0.75))),
			{Method: "random codes", Kind: eval.KindFloor, Bits: 32, Figures: eval.Figures{MAP: 0.1, Precision: 0.1, PRArea: 0.1}},
			{Method: "float, Euclidean", Kind: eval.KindReference, Figures: eval.Figures{MAP: 0.42, Precision: 0.7, PRArea: 0.4}, Bytes: 3136},
		},
	}
}

// result invents a method of a given MAP with curves that fit it.
func result(name string, bits int, quality float64) eval.Row {
	r := eval.Row{
		Method: name, Kind: eval.KindMethod, Bits: bits, UnseenMAP: quality / 2, Figures: eval.Figures{MAP: quality,
			MAPLow: quality - 0.02, MAPHigh: quality + 0.02, Precision: quality + 0.05, PRArea: quality - 0.04},
		TrainSeconds: 40 * quality * quality * quality, EncodeMicroseconds: 90 * quality,
		Bytes: bits / 8, DistinctCodes: int(6000 * (1 - quality)),
	}
	for radius := range bits + 1 {
		recall := 1 - math.Pow(1-float64(radius)/float64(bits), 2.2)
		precision := 0.1 + (quality+0.08-0.1)*(1-math.Pow(recall, 3/(1.1-quality)))
		r.PRCurve = append(r.PRCurve, eval.PRPoint{Radius: radius, Recall: recall, Precision: precision})
	}
	return r
}

func supervised(r eval.Row) eval.Row {
	r.Supervised = true
	return r
}

func recommended(r eval.Row) eval.Row {
	r.Recommended = true
	return r
}

// large returns a report of the size that compare makes, with invented numbers and real pictures.
func large(t *testing.T) report.Data {
	t.Helper()
	d := small()
	d.Title = "Which codes for Fashion-MNIST?"
	d.Machine = "Intel Xeon, 2 cores, 8 GB"
	d.Command = "hashgrove compare shop/train-images-idx3-ubyte.gz --queries shop/query-images-idx3-ubyte.gz " +
		"--bits 16,32,64,128 --html report.html"
	d.Dataset = report.Dataset{
		Name: "train-images-idx3-ubyte.gz", Base: 6000, Queries: 1000, Dim: 784, Classes: 10, Similar: "same class",
		HeldOut: []string{"bag", "coat"},
	}
	d.Advice = []string{"Hash with FastHash at 64 bits.", "CCA-ITQ learns 60 times faster and loses 0.08 MAP."}
	d.Warnings = []string{
		"the order of ties moves MAP of a classifier's classes by 0.12: compare with others only by expected values",
	}
	d.Rows = nil
	for i, bits := range []int{16, 32, 64, 128} {
		up := 0.04 * float64(i)
		for _, m := range []struct {
			name       string
			quality    float64
			supervised bool
		}{
			{"FastHash", 0.72, true}, {"KSH, 1,000 anchors", 0.62, true}, {"TSH, kernel features", 0.66, true},
			{"CCA-ITQ", 0.61, true}, {"SDH", 0.64, true}, {"STHs", 0.5, true}, {"SPLH", 0.47, true},
			{"PCA-ITQ", 0.39, false}, {"AGH, two layers", 0.37, false}, {"Spherical hashing", 0.36, false},
			{"LSH", 0.28, false},
		} {
			r := result(m.name, bits, m.quality+up*(1.1-m.quality))
			if m.supervised {
				r = supervised(r)
			}
			r.Recommended = m.name == "FastHash" && bits == 64
			d.Rows = append(d.Rows, r)
		}
		random := result("random codes", bits, 0.12)
		random.Kind = eval.KindFloor
		random.UnseenMAP, random.TrainSeconds, random.EncodeMicroseconds = 0, 0, 0
		class := supervised(result("a classifier's classes", bits, 0.7))
		class.Kind = eval.KindReference
		d.Rows = append(d.Rows, random, class)
	}
	float := result("plain vectors", 0, 0.43)
	float.Kind, float.Bytes = eval.KindReference, 3136
	float.TrainSeconds, float.EncodeMicroseconds, float.DistinctCodes = 0, 0, 0
	float.MAPLow, float.MAPHigh = 0, 0
	float.PRCurve = result("", 64, 0.43).PRCurve
	d.Rows = append(d.Rows, float)
	return d
}
