package server_test

import (
	"strings"
	"testing"

	"hashgrove/server"
)

// TestEveryErrorHasACode: programs tell errors apart by their code.
func TestEveryErrorHasACode(t *testing.T) {
	const token = "a-token-that-nobody-guesses"
	s := serve(t, func(o *server.Options) { o.WriteToken, o.ReadToken, o.Limits.Body = token, "r"+token, 1000 })
	reader, writer := "Bearer r"+token, "Bearer "+token
	for _, c := range []struct {
		status       int
		code         string
		method, path string
		body         string
		header       []string
	}{
		{401, "unauthorized", "GET", shop, "", []string{"Authorization", "Bearer x"}},
		{403, "forbidden", "DELETE", shop + "/items/7", "", []string{"Authorization", reader}},
		{403, "forbidden", "GET", shop, "", []string{"Authorization", reader, "Origin", "http://elsewhere.example"}},
		{404, "not_found", "GET", "/v1/collections/nowhere", "", []string{"Authorization", reader}},
		{404, "not_found", "GET", "/nowhere", "", []string{"Authorization", reader}},
		{405, "method", "PUT", shop + "/search", "{}", []string{"Authorization", writer}},
		{406, "accept", "POST", shop + "/encode", `{"vectors":[[1,2,3,4]]}`, []string{"Authorization", reader, "Accept", "text/html"}},
		{413, "too_large", "POST", shop + "/search", strings.Repeat(" ", 2000), []string{"Authorization", reader}},
		{415, "media_type", "POST", shop + "/search", "x", []string{"Authorization", reader, "Content-Type", "text/plain"}},
		{400, "invalid", "GET", shop + "/search?id=7&k=100000", "", []string{"Authorization", reader}},
		{409, "other_model", "GET", shop, "", []string{"Authorization", reader, "Hashgrove-Fingerprint", strings.Repeat("0", 32)}},
	} {
		text := s.must(t, c.status, c.method, c.path, c.body, c.header...)
		if !strings.Contains(text, `"code":"`+c.code+`"`) {
			t.Errorf("%d, want the code %s: %s", c.status, c.code, text)
		}
	}
}
