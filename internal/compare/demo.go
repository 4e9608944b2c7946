package compare

import (
	"context"
	"os"
	"path/filepath"

	"hashgrove"
	"hashgrove/internal/dataset/fashion"
	"hashgrove/internal/method"
	"hashgrove/internal/model"
	"hashgrove/internal/model/inside"
	"hashgrove/internal/vectors"
)

// The demo compares methods on pictures of clothes that are built into the program.

// UsualDetail is the number of bits of detail that suits most data.
const UsualDetail = method.UsualDetail

// Clothes returns the pictures of the demo: to find, and to search with.
func Clothes(ctx context.Context) (*Data, error) {
	read := func(p fashion.Part) (*Part, error) { return Read(ctx, vectors.WithLabels(p.X, p.Labels()), nil) }
	base, err := read(fashion.Train())
	if err != nil {
		return nil, err
	}
	queries, err := read(fashion.Query())
	return &Data{Name: "6,000 pictures of Fashion-MNIST", Base: base, Queries: queries}, err
}

// DemoOptions says how the demo compares. Keep is called with the model of FastHash with bits of detail.
func DemoOptions(bits int, keep func(*hashgrove.Model)) Options {
	return Options{
		Methods: Quick, Bits: []int{bits}, Unseen: -1, DetailBits: UsualDetail,
		Each: func(name string, _ int, m *model.Model) {
			if name == Detailed {
				keep(inside.NewModel(m).(*hashgrove.Model))
			}
		},
	}
}

// ClothesFiles lists the files that WriteClothes writes, the pictures to find first.
func ClothesFiles(folder string) []string {
	var paths []string
	for _, name := range fashion.Files {
		paths = append(paths, filepath.Join(folder, name))
	}
	return paths
}

// WriteClothes writes the pictures of the demo and their classes to IDX files in a folder.
func WriteClothes(folder string) error {
	for i, path := range ClothesFiles(folder) {
		if err := os.WriteFile(path, fashion.File(fashion.Files[i]), 0o666); err != nil {
			return err
		}
	}
	return nil
}

// Class returns the class of a row.
func (p *Part) Class(row int) string { return p.Labels.Names[p.Labels.Class[row]] }

// Classes returns the class of every row.
func (p *Part) Classes() []string {
	names := make([]string, p.Rows)
	for i := range names {
		names[i] = p.Class(i)
	}
	return names
}

// Vectors returns the rows one by one.
func (p *Part) Vectors() [][]float32 {
	rows := make([][]float32, p.X.Rows)
	for i := range rows {
		rows[i] = p.X.Row(i)
	}
	return rows
}

// Sketch draws a picture of the demo in characters.
func Sketch(pixels []float32) []string { return fashion.Sketch(pixels) }
