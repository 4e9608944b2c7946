package server_test

import (
	"strings"
	"testing"
)

// TestPartsWithoutEffectAreRefused: what says nothing is refused by name, wherever it is said.
func TestPartsWithoutEffectAreRefused(t *testing.T) {
	s := serve(t, nil)
	before := stateOf(t, s)
	for _, c := range [][4]string{
		{"GET", "/search?id=&code=0f00000000000000", "", "id"}, {"GET", "/search?id=7&code=", "", "code"},
		{"GET", "/search?id=7&where=", "", "where"}, {"GET", "/search?id=7&rank=", "", "rank"},
		{"GET", "/search?id=7&fingerprint=", "", "fingerprint"}, {"GET", "/search?id=7&fingerprint", "", "fingerprint"},
		{"GET", "/items?after=", "", "after"}, {"GET", "/items?where=", "", "where"}, {"GET", "/facets?where=", "", "where"},
		{"GET", "/search?id=7&rerank=cosine&ties=vectors", "", "ties"},
		{"POST", "/search", `{"id":7,"rerank":"cosine","ties":"vectors"}`, "ties"},
		{"POST", "/search", `{"id":"","code":"0f00000000000000"}`, "id"},
		{"POST", "/search", `{"id":7,"code":""}`, "code"}, {"POST", "/search", `{"id":7,"where":""}`, "where"},
		{"POST", "/search", `{"id":7,"rank":""}`, "rank"}, {"POST", "/search", `{"id":7,"fingerprint":""}`, "fingerprint"},
		{"POST", "/search", `{"queries":[{"id":7}],"name":"a"}`, "queries"},
		{"PUT", "/items/7", `{"code":"0f00000000000000","fingerprint":""}`, "fingerprint"},
		{"POST", "/items", `{"items":[{"id":7,"code":"0f00000000000000"}],"mode":""}`, "mode"},
		{"PATCH", "/items/7", `{}`, "label"}, {"PATCH", "/items/7", `{"attributes":{}}`, "attributes"},
		{"PATCH", "/items", `{"items":[{"id":7,"label":"caps"},{"id":8}]}`, "item 1"},
	} {
		if text := s.must(t, 400, c[0], shop+c[1], c[2]); !strings.Contains(messageOf([]byte(text)), c[3]) {
			t.Errorf("%v: %s", c, text)
		}
	}
	if stateOf(t, s) != before {
		t.Error("a refused request changed something")
	}
	s.must(t, 200, "GET", shop+"/search?id=7&fields=", "")
	s.must(t, 200, "PATCH", shop+"/items/7", `{"attributes":{},"replace":true}`)
}

// TestNumbersAreNotRounded: a whole number that is no float64 is refused, and its neighbours are stored.
func TestNumbersAreNotRounded(t *testing.T) {
	s := serve(t, nil)
	for number, status := range map[string]int{
		"9007199254740993": 400, "-9007199254740993": 400, "12345678901234567890123": 400,
		"9007199254740992": 200, "9007199254740994": 200, "-9007199254740992": 200, "9007199254740993.5": 200, "1e300": 200,
		"1152921504606847000": 200, // 2^60, as it is written
	} {
		for _, c := range [][3]string{
			{"PUT", "/items/7", `{"code":"0f00000000000000","attributes":{"price":%s}}`},
			{"POST", "/items", `{"ids":[7],"codes":["0f00000000000000"],"attributes":[{"price":%s}]}`},
			{"PATCH", "/items/7", `{"attributes":{"price":%s}}`},
		} {
			text := s.must(t, status, c[0], shop+c[1], strings.Replace(c[2], "%s", number, 1))
			if status == 400 && !strings.Contains(text, "price") {
				t.Errorf("%v: %s", c, text)
			}
		}
		if text := s.must(t, 200, "GET", shop+"/items/7", ""); status == 200 && strings.Trim(number, "-0123456789") == "" && !strings.Contains(text, `"price":`+number) {
			t.Errorf("%s is stored as %s", number, text)
		}
	}
}
