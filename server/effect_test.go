package server_test

import (
	"strings"
	"testing"
)

// TestPartsWithoutEffectAreRefused: what says nothing, or two things, is refused by name and changes nothing. Others are
// made by TestEveryKeyHasAnEffect.
func TestPartsWithoutEffectAreRefused(t *testing.T) {
	s := serve(t, nil)
	before := stateOf(t, s)
	long, rows := strings.Repeat("x", 70_000), strings.Repeat("A", 43)+"=" // two vectors
	for _, c := range [][4]string{
		{"GET", "/search?id=7&fingerprint", "", "fingerprint"},
		{"PUT", "/items/7", `{"code":"0f00000000000000","fingerprint":""}`, "fingerprint"},
		{"PATCH", "/items/7", `{"attributes":{}}`, "attributes"},
		{"PATCH", "/items", `{"items":[{"id":7,"label":"caps"},{"id":8}]}`, "item 1"},
		{"PATCH", "/items", `{"items":[{"id":5,"label":"a"},{"id":5,"label":"b"}]}`, "id"},
		{"POST", "/items", `{"ids":["a","a"],"codes":["0f00000000000000","0f00000000000001"]}`, "id"},
		{"POST", "/items", `{"ids":["7",7],"codes":["0f00000000000000","0f00000000000001"],"mode":"add"}`, "id"},
		{"POST", "/items", `{"items":[{}],"vectors_base64":"AACAPwAAAEAAAEBAAACAQA=="}`, "vectors_base64"},
		{"POST", "/items", `{"items":[]}`, "items"}, {"POST", "/items", `{"ids":[],"codes":[]}`, "ids"},
		{"POST", "/items", `{"ids":["y"],"codes":[]}`, "codes"},
		{"POST", "/items", `{"ids":["y"],"codes":["0f00000000000000","0f00000000000001"]}`, "codes"},
		{"POST", "/items", `{"ids":["y"],"codes":["0f00000000000000"],"labels":[]}`, "labels"},
		{"POST", "/items", `{"ids":["y"],"vectors_base64":""}`, "vectors_base64"},
		{"POST", "/items", `{"ids":["y"],"vectors_base64":"` + rows + `"}`, "vectors"},
		{"POST", "/items", `{"items":[{"id":"y","code":"0f00000000000000"}],"mode":"replace"}`, "mode"},
		{"POST", "/items", `{"items":[{"id":"y","code":"0f00000000000000","attributes":{"a":[1]}}]}`, "attributes"},
		{"POST", "/items", `{"items":[{"id":"` + long + `","code":"0f00000000000000"}]}`, "id"},
	} {
		if text := s.must(t, 400, c[0], shop+c[1], c[2]); !strings.Contains(messageOf([]byte(text)), c[3]) {
			t.Errorf("%.200v: %s", c, text)
		}
	}
	if stateOf(t, s) != before {
		t.Error("a refused request changed something")
	}
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
