package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"hashgrove/internal/compare"
	"hashgrove/server"
)

// demoCollection serves the demo's pictures of clothes: 6,000 training pictures and 1,000 new ones. On first start
// it runs the verbs a user would run and keeps the results in the cache.
func (c *serveCommand) demoCollection(ctx context.Context) (server.CollectionOptions, error) {
	folder, err := c.makeCacheFolder("serve")
	if err != nil {
		return server.CollectionOptions{}, err
	}
	in := func(name string) string { return filepath.Join(folder, name) }
	pictures := in("*-images-idx3-ubyte.gz")
	o := server.CollectionOptions{Name: "clothes", Path: in("clothes-look.hgi"), Pictures: pictures, Vectors: pictures}
	if report := cacheFolder("demo", "report.html"); isThere(report) {
		o.Report = report
	}
	if isThere(o.Path) {
		return o, nil
	}
	c.note("first start: training on 6,000 pictures of clothes, which takes less than a minute; "+
		"pictures and model are kept in %s", folder)
	if err := compare.WriteClothes(folder); err != nil {
		return o, err
	}
	clothes, err := compare.Clothes(ctx)
	if err != nil {
		return o, err
	}
	// The glob finds the new pictures first.
	learned, added := clothes.Base.Classes(), clothes.Queries.Classes()
	var attributes strings.Builder
	attributes.WriteString("part\n")
	attributes.WriteString(strings.Repeat("new\n", len(added)) + strings.Repeat("learned\n", len(learned)))
	for name, text := range map[string]string{
		"learned.txt": strings.Join(learned, "\n") + "\n",
		"all.txt":     strings.Join(append(added, learned...), "\n") + "\n",
		"parts.csv":   attributes.String(),
	} {
		if err := os.WriteFile(in(name), []byte(text), 0o666); err != nil {
			return o, err
		}
	}
	model := in("clothes-look.hgm") // caches of earlier versions have a clothes.hgm, without detail
	for _, args := range [][]string{
		{
			"train", in("train-images-idx3-ubyte.gz"), "--labels", in("learned.txt"), "--effort", "quick",
			"--detail-bits", strconv.Itoa(compare.UsualDetail), "-o", model, "--force",
		},
		{
			"index", "build", pictures, "-m", model, "--labels", in("all.txt"), "--attributes", in("parts.csv"),
			"-o", o.Path,
		},
	} {
		if err := c.runVerb(ctx, args); err != nil {
			return o, fmt.Errorf("the demo's data: hashgrove %s: %w", args[0], err)
		}
	}
	return o, nil
}

// runVerb runs another verb with its output on standard error.
func (c *serveCommand) runVerb(ctx context.Context, args []string) error {
	a := &app{in: strings.NewReader(""), out: c.err, raw: c.err, err: c.err}
	root := a.root()
	root.SetArgs(append(args, fmt.Sprintf("--quiet=%v", c.quiet), fmt.Sprintf("--threads=%d", c.threads)))
	root.SetOut(c.err)
	root.SetErr(c.err)
	return root.ExecuteContext(ctx)
}

func isThere(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
