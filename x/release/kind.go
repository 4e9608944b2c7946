package main

import (
	"regexp"
	"slices"
	"strings"

	"hashgrove/internal/fault"
)

// A licence is recognised by sentences from its beginning, middle and end that no other has, after everything but
// letters and digits became single spaces. A file may hold several licences.

// kind is a licence that may be inside the binary, under its SPDX name.
type kind struct {
	name string
	all  []string // sentences it has
	none []string // sentences that make it another one
}

const (
	bsdStart   = "redistribution and use in source and binary forms with or without modification are permitted"
	bsdEnd     = "even if advised of the possibility of such damage"
	bsdName    = "neither the name"
	bsdAdverts = "all advertising materials mentioning features"
)

var kinds = []kind{
	{name: "Apache-2.0", all: []string{
		"apache license version 2 0 january 2004", "terms and conditions for use reproduction and distribution",
		"grant of patent license", "accepting warranty or additional liability",
	}},
	{name: "BSD-2-Clause", all: []string{bsdStart, bsdEnd}, none: []string{bsdName, bsdAdverts}},
	{name: "BSD-3-Clause", all: []string{bsdStart, bsdName, bsdEnd}, none: []string{bsdAdverts}},
	{name: "ISC", all: []string{
		"permission to use copy modify and or distribute this software for any purpose with or without fee is hereby granted",
		"in no event shall the author be liable",
	}},
	{name: "MIT", all: []string{
		"permission is hereby granted free of charge to any person obtaining a copy", "without restriction including",
		"the above copyright notice and this permission notice shall be included in all copies",
		"the software is provided as is without warranty of any kind",
	}},
	{name: "MPL-2.0", all: []string{
		"mozilla public license version 2 0", "1 10 modifications", "10 4 distributing source code form",
	}},
	{name: "Unlicense", all: []string{
		"this is free and unencumbered software released into the public domain",
		"anyone is free to copy modify publish use compile sell or distribute this software",
	}},
}

// refused are words of licences, and of additions to them, that a binary under the MIT licence must not contain.
var refused = []string{
	"gnu general public license", "gnu affero general public license", "gnu lesser general public license",
	"gnu library general public license", "server side public license", "business source license", "commons clause",
	"elastic license", "attribution noncommercial", "non commercial use only", "non commercial purposes only", bsdAdverts,
	"shall be used for good not evil",
}

var notWord = regexp.MustCompile(`[^a-z0-9]+`)

// recogniseKinds names the licences in a text; none without an error means that it is not known.
func recogniseKinds(text string) ([]string, error) {
	words := " " + notWord.ReplaceAllString(strings.ToLower(text), " ") + " "
	has := func(s string) bool { return strings.Contains(words, s) }
	var found []string
	for _, k := range kinds {
		missing := func(s string) bool { return !has(s) }
		if !slices.ContainsFunc(k.all, missing) && !slices.ContainsFunc(k.none, has) {
			found = append(found, k.name)
		}
	}
	for _, phrase := range refused {
		// The Mozilla licence names those of GNU as others that its files may be given under.
		if has(" "+phrase+" ") && !(slices.Contains(found, "MPL-2.0") && strings.HasPrefix(phrase, "gnu ")) {
			return nil, fault.New("refused-licence", "its licence says %q, which the binary must not contain", phrase)
		}
	}
	return found, nil
}

var allRights = regexp.MustCompile(`(?i)[ ,.]*all rights reserved.*$`)

var copyrightLine = regexp.MustCompile(`(?im)copyright\s*(\(c\)|©)?\s*(by )?[0-9]{4}.*$`)

// copyrightLines are the lines of a licence that say whose the work is, each once.
func copyrightLines(text string) []string {
	var list []string
	for _, line := range copyrightLine.FindAllString(text, -1) {
		line = strings.Join(strings.Fields(line), " ")
		line = strings.TrimRight(allRights.ReplaceAllString(line, ""), "., *")
		if !slices.Contains(list, line) {
			list = append(list, line)
		}
	}
	return list
}
