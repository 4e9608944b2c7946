package postgres

import (
	"testing"

	"hashgrove/internal/index"
	"hashgrove/internal/message"
	"hashgrove/internal/testkit/pgtest"
	"hashgrove/internal/testkit/searchtest"
)

// checkVerify: a table passes as long as it holds what was pushed and counts as an index does.
func checkVerify(t *testing.T, s *pgtest.Server) {
	ctx, c := t.Context(), connect(t, s)
	do := func(text string) {
		t.Helper()
		if _, err := c.Exec(ctx, text); err != nil {
			t.Fatal(err)
		}
	}
	for _, detail := range []int{0, 20} {
		e, b, more := open(t, s, "verified"), searchtest.Items(300, 64, 1), searchtest.Items(400, 64, 2)
		b.Fingerprint = b.Fingerprint.WithDetail(detail)
		more.Fingerprint = b.Fingerprint
		for i := range more.IDs {
			more.IDs[i] = index.Text("more " + more.IDs[i].String())
		}
		if _, err := fill(t, e, b, PushOptions{}); err != nil {
			t.Fatal(err)
		}
		verify := func() (Verification, error) { return e.Verify(ctx, sourceOf(b)) }
		v, err := verify()
		if err != nil || v.Items != 300 || v.Answers < 400 || v.Same != v.Answers || v.Recall != 1 {
			t.Fatalf("%+v, %v", v, err)
		}
		if err := e.Write(ctx, more); err != nil { // items of others take part in the answers
			t.Fatal(err)
		}
		if v, err = verify(); err != nil || v.Items != 300 || v.Same != v.Answers {
			t.Errorf("%+v, %v", v, err)
		}
		for _, change := range []string{
			"code = ~code", "label = 'another'", "tags = array_append(tags, 'another')", `attributes = '{"another": 1}'`,
			"id = 'another'",
		} {
			do("BEGIN; CREATE TABLE kept AS TABLE verified; COMMIT")
			do("UPDATE verified SET " + change + " WHERE id = '" + b.IDs[7].String() + "'")
			if _, err = verify(); !message.Is(err, "table-differs") {
				t.Errorf("%s: %v", change, err)
			}
			do("BEGIN; DELETE FROM verified; INSERT INTO verified SELECT * FROM kept; DROP TABLE kept; COMMIT")
		}
		// A server that counts bits otherwise.
		do("CREATE FUNCTION public.bit_count(bit) RETURNS bigint LANGUAGE sql AS 'SELECT pg_catalog.bit_count($1) / 2'")
		do("ALTER ROLE hashgrove SET search_path = public, pg_catalog")
		e = open(t, s, "verified")
		if v, err = verify(); !message.Is(err, "table-differs") || v.Items != 300 {
			t.Errorf("distances that are wrong: %+v, %v", v, err)
		}
		do("ALTER ROLE hashgrove RESET ALL; DROP FUNCTION public.bit_count(bit); DROP TABLE verified")
	}
}
