package main

import (
	"fmt"
	"slices"
	"strings"
)

// licencesPage is docs/licences.md.
func licencesPage(parts []part) string {
	var b strings.Builder
	b.WriteString(`# Licences

Hashgrove is under the [MIT licence](../LICENSE). Its binaries contain what is listed here, all under licences that let
anyone use it, pass it on and sell it; the archives and packages carry the full texts in
` + "`THIRD-PARTY.txt`" + `. Modules that only tests and benchmarks use are not in the binaries and not here. A module
with a licence that is not known, or with one of the GNU family, fails the tests.

This page is written by ` + "`go test ./x/release -run TestLicencesPage -update`" + `.

| part | version | licence | copyright | platforms |
|---|---|---|---|---|
`)
	for _, p := range parts {
		on := "all"
		if len(p.platforms) < len(platforms) {
			var names []string
			for _, one := range p.platforms {
				if !slices.Contains(names, one.os) {
					names = append(names, one.os)
				}
			}
			on = strings.Join(names, ", ")
		}
		name := "`" + p.name + "`"
		if p.name == standardLibrary {
			name = "Go's standard library"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", name, p.version, p.expression(), strings.Join(p.holders(), "; "), on)
	}
	return b.String()
}

// holders tells whose a part is, also where its licence does not.
func (p part) holders() []string {
	switch {
	case len(p.copyright) > 0:
		return p.copyright
	case slices.Equal(p.kinds, []string{"Unlicense"}):
		return []string{"none, public domain"}
	}
	return []string{"the authors of " + p.name}
}

// thirdParty is THIRD-PARTY.txt: the licences of everything in the binaries in full.
func thirdParty(parts []part) []byte {
	var b strings.Builder
	b.WriteString("The binaries of Hashgrove contain the works below, under these licences.\n")
	line := strings.Repeat("=", 80)
	for _, p := range parts {
		fmt.Fprintf(&b, "\n%s\n%s\n%s\n", line, strings.TrimSpace(p.name+" "+p.version+"\n"+p.expression()), line)
		for _, t := range p.texts {
			fmt.Fprintf(&b, "\n%s:\n\n%s", t.name, t.text)
		}
	}
	return []byte(b.String())
}
