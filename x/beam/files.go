package beam

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"

	"hashgrove/internal/fault"
	"hashgrove/internal/natural"
	"hashgrove/internal/section"
)

// Files are local ones, or those of a file system that the program registered with Beam, such as gs://bucket/name. The
// latter are copied to a temporary folder to be read, since most formats are not read from front to back.

// isRemote reports whether a path belongs to a file system of Beam.
func isRemote(name string) bool { return strings.Contains(name, "://") }

// expand lists the files of a pattern, in natural order; of anything else it is the path itself.
func expand(ctx context.Context, pattern string) ([]string, error) {
	if !strings.ContainsAny(pattern, "*?[") {
		return []string{pattern}, nil
	}
	if _, err := os.Stat(pattern); err == nil {
		return []string{pattern}, nil
	}
	var found []string
	var err error
	if isRemote(pattern) {
		found, err = list(ctx, pattern)
	} else {
		found, err = filepath.Glob(pattern)
		found = slices.DeleteFunc(found, func(name string) bool {
			info, err := os.Stat(name)
			return err != nil || info.IsDir()
		})
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", pattern, err)
	}
	if len(found) == 0 {
		return nil, fault.New("no-files", "%s: no file matches", pattern)
	}
	slices.SortFunc(found, natural.Compare)
	return found, nil
}

func list(ctx context.Context, pattern string) ([]string, error) {
	fs, err := filesystem.New(ctx, pattern)
	if err != nil {
		return nil, err
	}
	defer fs.Close()
	return fs.List(ctx, pattern)
}

// localCopies returns the paths of files under which they can be read here; "" stays "". Done removes what was copied.
func localCopies(ctx context.Context, paths ...string) (local []string, done func(), err error) {
	folder := ""
	done = func() {
		if folder != "" {
			os.RemoveAll(folder)
		}
	}
	local = slices.Clone(paths)
	for i, name := range paths {
		if !isRemote(name) {
			continue
		}
		if folder == "" {
			if folder, err = os.MkdirTemp("", "hashgrove-beam-"); err != nil {
				return nil, nil, err
			}
		}
		// The name tells the format; a folder for each keeps equal names apart.
		local[i] = filepath.Join(folder, fmt.Sprint(i), path.Base(name))
		if err := download(ctx, name, local[i]); err != nil {
			done()
			return nil, nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return local, done, nil
}

func download(ctx context.Context, from, to string) (err error) {
	in, err := openRemote(ctx, from)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := os.Mkdir(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

func openRemote(ctx context.Context, name string) (io.ReadCloser, error) {
	fs, err := filesystem.New(ctx, name)
	if err != nil {
		return nil, err
	}
	defer fs.Close()
	return fs.OpenRead(ctx, name)
}

// writeFile writes a file that appears under its name when it is complete.
func writeFile(ctx context.Context, name string, write func(io.Writer) error) error {
	if !isRemote(name) {
		return section.WriteFile(name, write)
	}
	folder, err := os.MkdirTemp("", "hashgrove-beam-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	local := filepath.Join(folder, path.Base(name))
	if err := section.WriteFile(local, write); err != nil {
		return err
	}
	return upload(ctx, local, name)
}

// upload copies a file that is complete; stores of objects show it when it is closed.
func upload(ctx context.Context, local, name string) error {
	in, err := os.Open(local)
	if err != nil {
		return err
	}
	defer in.Close()
	fs, err := filesystem.New(ctx, name)
	if err != nil {
		return err
	}
	defer fs.Close()
	out, err := fs.OpenWrite(ctx, name)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if _, err = io.Copy(out, in); err == nil {
		err = out.Close()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// WriteText writes a small file, here or in a file system of Beam.
func WriteText(ctx context.Context, name, text string) error {
	return writeFile(ctx, name, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
}
