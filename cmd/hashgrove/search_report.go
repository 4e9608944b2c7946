package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"hashgrove"
	"hashgrove/api"
	"hashgrove/internal/dataset"
	"hashgrove/internal/fault"
	"hashgrove/internal/index"
	"hashgrove/internal/items"
	"hashgrove/internal/picture"
	"hashgrove/internal/picture/gallery"
	"hashgrove/internal/report"
)

const (
	reportQueries = 100 // on a page
	reportHits    = 50  // of each
	reportSize    = 96  // side of photos in pixels
)

// writeReport writes the page of --report: queries and hits, as pictures if there are any.
func (c *searchCommand) writeReport(ctx context.Context, a *answer, args []string) error {
	results := a.Results
	page := report.SearchPage{
		Title: "Searches in " + a.path, Date: time.Now(), Command: c.command, Version: hashgrove.Version,
	}
	switch detail := slices.ContainsFunc(results, func(r api.Result) bool {
		return len(r.Hits) > 0 && r.Hits[0].DetailDistance != nil
	}); {
	case a.Rank != api.Hamming && a.Rank != "":
		page.Notes = append(page.Notes, "Ranked by "+rankName(a.Rank)+
			": distances are in sixteenths of a bit of average certainty.")
	case detail:
		page.Notes = append(page.Notes, "Distances are in sixteenths of a bit of the class; a bit of detail counts two.")
	}
	if len(results) > reportQueries {
		page.Notes = append(page.Notes, fmt.Sprintf("The first %d of %d queries.", reportQueries, len(results)))
		results = results[:reportQueries]
	}
	found, err := c.itemPictures(ctx, results)
	if err != nil {
		return err
	}
	asked, err := c.queryPictures(ctx, args, len(results))
	if err != nil {
		return err
	}
	for q, r := range results {
		s := report.Search{Query: report.Picture{Name: r.Query, Label: r.Label, PNG: asked[q]}}
		if len(c.ids) > 0 {
			s.Query.PNG = found[api.ID(r.Query)]
		}
		if r.Tied > r.TiedHits {
			s.Note = tieText(&r)
		}
		for _, h := range r.Hits[:min(len(r.Hits), reportHits)] {
			s.Hits = append(s.Hits, foundItem(h, r.Label, found[h.ID]))
		}
		page.Searches = append(page.Searches, s)
	}
	return report.WriteSearchesFile(c.report, page)
}

// foundItem converts a hit for the page.
func foundItem(h api.Hit, label string, png []byte) report.FoundItem {
	it := report.FoundItem{Hit: report.Hit{
		Picture:  report.Picture{Name: string(h.ID), Label: h.Label, PNG: png},
		Distance: strconv.Itoa(h.Ranked()), Right: h.Label == label,
	}}
	if h.Score != nil {
		it.Distance = strconv.FormatFloat(*h.Score, 'g', 4, 64)
	}
	if len(h.Tags) > 0 {
		it.Details = append(it.Details, strings.Join(h.Tags, ", "))
	}
	for _, name := range slices.Sorted(maps.Keys(h.Attributes)) {
		it.Details = append(it.Details, name+" "+valueText(h.Attributes[name]))
	}
	return it
}

// itemPictures returns the pictures of the hits and of queries that are items, by id, from --pictures or --rerank.
func (c *searchCommand) itemPictures(ctx context.Context, results []api.Result) (map[api.ID][]byte, error) {
	paths := c.pictures
	if len(paths) == 0 {
		paths = c.rerank
	}
	if len(paths) == 0 {
		return nil, nil
	}
	src, err := openPictures(c.items, paths)
	if err != nil {
		return nil, fmt.Errorf("--pictures: %w", err)
	}
	if src == nil {
		if len(c.pictures) > 0 {
			return nil, fault.New("not-pictures", "--pictures: %s holds vectors, not pictures", paths[0])
		}
		return nil, nil
	}
	wanted := map[api.ID]bool{}
	for _, r := range results {
		for _, h := range r.Hits[:min(len(r.Hits), reportHits)] {
			wanted[h.ID] = true
		}
	}
	for _, text := range c.ids {
		wanted[api.ID(text)] = true
	}
	found := map[api.ID][]byte{}
	shape := src.Preparation().Shape
	for chunk, err := range src.Pictures(ctx) {
		if err != nil {
			return nil, err
		}
		for i := range chunk.X.Rows {
			key, err := index.RowID(chunk.IDs, i, chunk.First+i)
			if err != nil {
				return nil, err
			}
			id := api.ID(key.String())
			if !wanted[id] || found[id] != nil {
				continue
			}
			if found[id], err = gallery.PNG(shape.Picture(chunk.Slice(i, i+1).Pix, nil)); err != nil {
				return nil, err
			}
		}
		if len(found) == len(wanted) {
			break
		}
	}
	return found, nil
}

// queryPictures returns the pictures of the first n queries, by number; none if they are not pictures or came
// through a pipe.
func (c *searchCommand) queryPictures(ctx context.Context, args []string, n int) (map[int][]byte, error) {
	if len(args) == 0 || slices.ContainsFunc(args, dataset.IsStream) {
		return nil, nil
	}
	if coded, err := items.AreCodes(args); coded || err != nil {
		return nil, err
	}
	src, err := openPictures(c.data, args)
	if err != nil || src == nil {
		return nil, err
	}
	rows := slices.Compact(slices.Sorted(slices.Values(c.rows)))
	if len(rows) == 0 {
		for row := range n {
			rows = append(rows, row)
		}
	}
	rows = rows[:min(n, len(rows))]
	byRow, err := gallery.EncodePNG(ctx, src, rows)
	found := map[int][]byte{}
	for q, row := range rows {
		found[q] = byRow[row]
	}
	return found, err
}

// openPictures opens pictures for display, photos larger than models see them. It returns nil for vectors.
func openPictures(d dataFlags, paths []string) (picture.Source, error) {
	d.Size, d.Grey = 0, false
	set, err := d.open(paths, nil)
	if err != nil {
		return nil, err
	}
	if _, ok := set.AsPictures(); ok && slices.Contains([]string{"folder", "tar", "picture"}, set.Format()) {
		d.Size = reportSize
		if set, err = d.open(paths, nil); err != nil {
			return nil, err
		}
	}
	src, ok := set.AsPictures()
	if !ok {
		return nil, nil
	}
	return src, nil
}
