package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"hashgrove/internal/cli"
	"hashgrove/internal/testkit/needs"
)

// feed runs a command line with a standard input.
func feed(t *testing.T, in io.Reader, args ...string) outcome {
	t.Helper()
	var out, errOut bytes.Buffer
	cause := execute(context.Background(), in, &out, &errOut, args)
	code := cli.Report(context.Background(), &errOut, "hashgrove", cause, explain)
	return outcome{code, out.String(), errOut.String(), cause}
}

// piped runs a line "cat FILE | hashgrove ...", which must succeed, and reports whether it is one.
func piped(t *testing.T, words []string) bool {
	t.Helper()
	if len(words) < 5 || words[0] != "cat" || words[2] != "|" || words[3] != "hashgrove" {
		return false
	}
	if o := feed(t, bytes.NewReader(read(t, words[1])), words[4:]...); o.code != 0 || o.out == "" {
		t.Errorf("%s: exit %d\n%s%s", strings.Join(words, " "), o.code, o.out, o.err)
	}
	return true
}

// forms writes the rows of new.csv in other formats and returns the files, each with the flags that it needs.
func forms(t *testing.T) map[string]string {
	t.Helper()
	var lines strings.Builder
	for _, it := range tableItems(t, "new.csv") {
		fmt.Fprintf(&lines, `{"id":%q,"label":%q,"vector":[`, it.id, it.label)
		for j, x := range it.vector {
			fmt.Fprintf(&lines, "%s%v", strings.Repeat(",", min(j, 1)), x)
		}
		lines.WriteString("]}\n")
	}
	write(t, "new.jsonl", lines.String())
	return map[string]string{
		"new.csv": "--label category --id-column sku", "new.jsonl": "", "vectors.npy": "",
	}
}

// TestPipesEqualFiles gives the same answers from standard input, from a pipe with a path and from a file.
func TestPipesEqualFiles(t *testing.T) {
	needs.Check(t, "takes seconds")
	indexed(t)
	for file, flags := range forms(t) {
		content := read(t, file)
		for _, line := range []string{
			"encode FILE -m m.hgm --to jsonl -o -", "encode FILE -m m.hgm --to hex -o -", "encode FILE -m m.hgm --to hgc -o -",
			"encode FILE -m m.hgm --to raw -o -", "encode FILE -m m.hgm --to csv -o -",
			"search items.hgi FILE --to jsonl", "search items.hgi FILE -k 3", "search items.hgi FILE --to csv -k 2",
			"search items.hgi FILE --to csv --fields query,id,distance -k 2", "search items.hgi FILE --row 2,5 --to jsonl --rank margins",
			"search items.hgi FILE --to jsonl --explain",
			"search items.hgi FILE --to jsonl --prefix 4 --where 'f0 > 0'",
			"search items.hgi FILE --row 1,4 --to jsonl --rank margins", "search items.hgi FILE --rank margins --radius 2",
		} {
			words := shellWords(line + " " + flags)
			at := slices.Index(words, "FILE")
			words[at] = file
			want := succeed(t, words...)
			if words[at] = "-"; want == "" {
				t.Fatalf("%s: no output", line)
			}
			if got := feed(t, bytes.NewReader(content), words...); got.code != 0 || got.out != want {
				t.Errorf("%s of %s from standard input: exit %d\n%s%.300s\nwant\n%.300s", line, file, got.code, got.err, got.out, want)
			}
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			words[at] = fmt.Sprintf("/dev/fd/%d", r.Fd())
			if _, err := os.Stat(words[at]); err != nil {
				needs.Skip(t, needs.Proc, "no paths of open files here")
			}
			go func() {
				_, _ = w.Write(content)
				_ = w.Close()
			}()
			if got := try(t, words...); got.code != 0 || got.out != want {
				t.Errorf("%s of %s from a pipe: exit %d\n%s%.300s\nwant\n%.300s", line, file, got.code, got.err, got.out, want)
			}
			r.Close()
		}
	}
	if got := feed(t, strings.NewReader(string(read(t, "new.csv"))), shellWords("search items.hgi - --label category --id-column sku --json")...); !strings.Contains(got.out, `"query": "new-79"`) {
		t.Errorf("--json from standard input: %+v", got)
	}
}

// TestAnswersComeAtOnce: whoever sends JSON lines through a pipe gets the answer to each before the next is sent.
func TestAnswersComeAtOnce(t *testing.T) {
	indexed(t)
	forms(t)
	lines := bytes.SplitAfter(read(t, "new.jsonl"), []byte("\n"))
	for _, line := range []string{"search items.hgi - --to jsonl -k 2", "encode - -m m.hgm --to jsonl -o -", "encode - -m m.hgm --to hex -o -"} {
		in, send := io.Pipe()
		receive, out := io.Pipe()
		done := make(chan int)
		go func() {
			var errOut bytes.Buffer
			code := run(context.Background(), in, out, &errOut, shellWords(line))
			out.Close()
			done <- code
		}()
		answers := bufio.NewReader(receive)
		for i, row := range lines[:5] {
			if _, err := send.Write(row); err != nil {
				t.Fatal(err)
			}
			got := make(chan string)
			go func() {
				answer, _ := answers.ReadString('\n')
				got <- answer
			}()
			select {
			case answer := <-got:
				if strings.HasPrefix(line, "search") && !strings.Contains(answer, fmt.Sprintf(`"query":"new-%d"`, i)) {
					t.Errorf("%s: the answer to row %d is %s", line, i, answer)
				}
			case <-time.After(2 * time.Minute):
				t.Fatalf("%s: no answer to row %d before the next is sent", line, i)
			}
		}
		send.Close()
		if rest, _ := io.ReadAll(answers); len(rest) > 0 || <-done != 0 {
			t.Errorf("%s: %s is left", line, rest)
		}
	}
}

// TestWritersDoNotWaitForPipes: while a search waits for its next query, others may write to the index.
func TestWritersDoNotWaitForPipes(t *testing.T) {
	indexed(t)
	in, send := io.Pipe()
	answers, out := io.Pipe()
	done := make(chan int, 1)
	go func() {
		done <- run(t.Context(), in, out, io.Discard, shellWords("search items.hgi - --to jsonl -k 1"))
	}()
	if _, err := send.Write([]byte("[1,2,3,4,5,6,7,8,9,10,11,12]\n")); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(answers).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	succeed(t, shellWords("index delete items.hgi --id items-5 --wait 0s")...)
	go io.Copy(io.Discard, answers)
	send.Close()
	if code := <-done; code != 0 {
		t.Errorf("exit %d", code)
	}
}

func TestPipeMistakes(t *testing.T) {
	indexed(t)
	row := "[1,2,3,4,5,6,7,8,9,10,11,12]\n"
	for _, c := range []struct{ in, line, want string }{
		{"", "encode - -m m.hgm --to hex -o -", "1 - -: empty"},
		{"sku,f0\na,1\n", "train - --label category -o n.hgm", "1 - -: once"},
		{"PAR1xxxxxxxxxx", "encode - -m m.hgm --to hex -o -", "1 - -: parquet"},
		{"PK\x03\x04xxxxxx", "search items.hgi -", "1 - -: npz"},
		{row, "encode - -m m.hgm --to npy -o -", "1 - NumPy rows"},
		{row, "search items.hgi - --row 7", "1 - -: 7 0"},
		{"[1,2,3]\n", "search items.hgi -", "1 wrong-dimensions -: 3 12"},
		{"[1,2,3]\n", "search items.hgi - --prefix 17", "2 bad-flag-value --prefix 17 16"},
		{"[1,2,3]\n", "search items.hgi - -", "1 - -: twice"},
		{"[1,2,3]\n", "search items.hgi - --rerank -", "2 input-taken --rerank -"},
		{"", "search items.hgi --id items-3 --rerank -", "1 - --rerank -: empty"},
	} {
		if d := feed(t, strings.NewReader(c.in), shellWords(c.line)...).unlike(c.want); d != "" {
			t.Errorf("%s: %s", c.line, d)
		}
	}
}

// TestVectorsFromPipe: the vectors of --rerank are read once, so they may come through a pipe.
func TestVectorsFromPipe(t *testing.T) {
	indexed(t)
	line := "search items.hgi new.csv --to jsonl --id-column sku --rerank "
	want := succeed(t, shellWords(line+"items.csv")...)
	if got := feed(t, bytes.NewReader(read(t, "items.csv")), shellWords(line+"-")...); got.code != 0 || got.out != want {
		t.Errorf("exit %d: %s%.300s\nwant\n%.300s", got.code, got.err, got.out, want)
	}
}

// TestTiesAreTold: search says how many items are at the last distance when it does not show all of them.
func TestTiesAreTold(t *testing.T) {
	indexed(t)
	r := searched(t, "items.hgi --id items-17 -k 3").Results[0]
	tied, last, shown := r.Tied, r.Hits[2].Distance, r.TiedHits
	if tied <= shown {
		t.Fatal("nothing ties")
	}
	want := []string{fmt.Sprint(tied), fmt.Sprint(last), fmt.Sprint(shown)}
	out := succeed(t, shellWords("search items.hgi --id items-17 -k 3")...)
	if line := lastLine(out); !slices.Equal(numbers(line), want) || !strings.HasSuffix(line, "id") {
		t.Errorf("%q are not told at the end of\n%s", want, out)
	}
	if out := succeed(t, shellWords("search items.hgi --id items-17 --radius 16")...); numbers(lastLine(out)) != nil {
		t.Errorf("all are shown, but it says\n%s", out)
	}
}
