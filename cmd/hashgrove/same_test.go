package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"hashgrove"
	"hashgrove/internal/compare"
	"hashgrove/internal/dataset"
	"hashgrove/internal/model"
)

// TestEveryWayTrainsTheSameModel: the same data, options and seed give the same bytes through the command, Go, and a
// comparison. Packages paper and workshop have tests of their own ways.
func TestEveryWayTrainsTheSameModel(t *testing.T) {
	shop(t) // 400 rows
	ctx := context.Background()
	columns := hashgrove.Columns{Label: "category", ID: "sku"}
	for name, c := range map[string]struct {
		flags string
		o     hashgrove.Options
	}{
		"defaults":    {"--bits 2", hashgrove.Options{Bits: 2}},
		"all rows":    {"--bits 8 --rounds 5 --validation 0", hashgrove.Options{Bits: 8, Validation: -1, Trees: hashgrove.TreeOptions{Rounds: 5}}},
		"another":     {"--bits 8 --method ksh --set anchors=30", hashgrove.Options{Bits: 8, Method: "ksh", Other: hashgrove.OtherOptions{Anchors: 30}}},
		"seed, paper": {"--bits 4 --seed 7 --effort paper --validation 0.2", hashgrove.Options{Bits: 4, Seed: 7, Effort: "paper", Validation: 0.2}},
	} {
		file := strings.ReplaceAll(name, " ", "-")
		succeed(t, strings.Fields("train items.csv --label category --id-column sku -o "+file+".hgm "+c.flags)...)
		want := read(t, file+".hgm")
		data, err := hashgrove.OpenData("items.csv", columns)
		if err != nil {
			t.Fatal(err)
		}
		made := must(hashgrove.Train(ctx, data, c.o))(t)
		if err := made.Save("saved.hgm"); err != nil || !bytes.Equal(read(t, "saved.hgm"), want) {
			t.Errorf("%s: Go trains another model: %v", name, err)
		}
	}
	succeed(t, strings.Fields("train items.csv --label category --id-column sku --bits 4 --grow defaults.hgm -o longer.hgm")...)
	grown := must(hashgrove.LoadModel("defaults.hgm"))(t)
	data := must(hashgrove.OpenData("items.csv", columns))(t)
	longer := must(hashgrove.Train(ctx, data, hashgrove.Options{Bits: 4, Grow: grown}))(t)
	if err := longer.Save("saved.hgm"); err != nil || !bytes.Equal(read(t, "saved.hgm"), read(t, "longer.hgm")) {
		t.Errorf("Go grows another model: %v", err)
	}
	want := fingerprint(t, "all-rows.hgm")
	set := must(dataset.Open(dataset.Spec{Paths: []string{"items.csv"}, Label: "category", ID: "sku"}))(t)
	part := must(compare.Read(ctx, set, nil))(t)
	queries := must(compare.Read(ctx, set, nil))(t)
	models := 0
	_, err := compare.Run(ctx, &compare.Data{Base: part, Queries: queries}, compare.Options{
		Methods: []string{"fasthash"}, Bits: []int{8}, NewShare: -1, Unseen: -1, Seed: 1, Train: hashgrove.Options{Trees: hashgrove.TreeOptions{Rounds: 5}},
		Each: func(name string, bits int, m *model.Model) {
			if name != "fasthash" {
				return
			}
			models++
			if m.Fingerprint().String() != want { // it does not write the digest of its data into the model
				t.Error("a comparison trains another model")
			}
		},
	})
	if err != nil || models != 1 {
		t.Errorf("%d models of a comparison: %v", models, err)
	}
}

// must fails the test when there is an error.
func must[T any](v T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
