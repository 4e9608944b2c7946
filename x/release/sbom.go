package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// The list of parts of a binary (software bill of materials) is a CycloneDX 1.5 document in JSON. What is in it comes
// from what the linker wrote into the binary; licences come from the folders of the modules.

type bom struct {
	Schema       string       `json:"$schema"`
	Format       string       `json:"bomFormat"`
	SpecVersion  string       `json:"specVersion"`
	SerialNumber string       `json:"serialNumber"`
	Version      int          `json:"version"`
	Metadata     bomMetadata  `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type bomMetadata struct {
	Timestamp string    `json:"timestamp"`
	Component component `json:"component"`
}

type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version,omitempty"`
	Hashes     []bomHash  `json:"hashes,omitempty"`
	Licenses   []choice   `json:"licenses"`
	Copyright  string     `json:"copyright,omitempty"`
	Purl       string     `json:"purl,omitempty"`
	Properties []property `json:"properties,omitempty"`
}

type bomHash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type choice struct {
	Expression string `json:"expression"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type dependency struct {
	Ref       string   `json:"ref"`
	DependsOn []string `json:"dependsOn,omitempty"`
}

// bill writes the list of the parts of a binary.
func (r *release) bill(binary string) ([]byte, error) {
	data, err := os.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	main := component{
		Type: "application", Ref: "hashgrove", Name: "hashgrove", Version: r.version,
		Hashes: []bomHash{{"SHA-256", hex.EncodeToString(sum[:])}}, Licenses: []choice{{"MIT"}},
	}
	for _, s := range info.Settings {
		main.Properties = append(main.Properties, property{"go:" + s.Key, s.Value})
	}
	goVersion := strings.TrimPrefix(info.GoVersion, "go")
	list := []component{{Type: "library", Ref: "pkg:golang/std@" + goVersion, Name: "std", Version: goVersion}}
	if list[0].Licenses, list[0].Copyright, err = r.licences(standardLibrary, ""); err != nil {
		return nil, err
	}
	other, err := buildinfo.ReadFile(helper(binary))
	if err != nil {
		return nil, err
	}
	for _, dep := range other.Deps {
		if !slices.ContainsFunc(info.Deps, func(d *debug.Module) bool { return d.Path == dep.Path }) {
			info.Deps = append(info.Deps, dep)
		}
	}
	for _, dep := range info.Deps {
		if dep.Replace != nil {
			return nil, fmt.Errorf("module %s is replaced; a release is built from what the module names", dep.Path)
		}
		hash, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(dep.Sum, "h1:"))
		if err != nil || len(hash) != sha256.Size {
			return nil, fmt.Errorf("module %s has the checksum %q, which is none", dep.Path, dep.Sum)
		}
		c := component{
			Type: "library", Name: dep.Path, Version: dep.Version, Hashes: []bomHash{{"SHA-256", hex.EncodeToString(hash)}},
			// Names of packages are in small letters there, and a plus is not a letter of an address.
			Purl: "pkg:golang/" + strings.ToLower(dep.Path) + "@" + strings.ReplaceAll(dep.Version, "+", "%2B"),
		}
		c.Ref = c.Purl
		if c.Licenses, c.Copyright, err = r.licences(dep.Path, dep.Version); err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	list[0].Purl = list[0].Ref
	for _, p := range r.parts {
		if strings.HasPrefix(p.name, "hashgrove/") {
			list = append(list, component{
				Type: "data", Ref: p.name, Name: p.name, Licenses: []choice{{p.expression()}},
				Copyright: strings.Join(p.holders(), "; "),
			})
		}
	}
	return encodeBill(main, list, r.date)
}

// licences are those of a part.
func (r *release) licences(name, version string) ([]choice, string, error) {
	at := slices.IndexFunc(r.parts, func(p part) bool { return p.name == name && p.version == version })
	if at < 0 {
		return nil, "", fmt.Errorf("the binary contains %s %s, whose licence was not looked at", name, version)
	}
	return []choice{{r.parts[at].expression()}}, strings.Join(r.parts[at].holders(), "; "), nil
}

func encodeBill(main component, list []component, date time.Time) ([]byte, error) {
	all := dependency{Ref: main.Ref}
	edges := []dependency{}
	for _, c := range list {
		all.DependsOn = append(all.DependsOn, c.Ref)
		edges = append(edges, dependency{Ref: c.Ref})
	}
	// A name for the document that follows from the binary, in the form of a random UUID.
	id := sha256.Sum256([]byte("hashgrove bill of materials " + main.Hashes[0].Content))
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	b, err := json.MarshalIndent(bom{
		Schema: "http://cyclonedx.org/schema/bom-1.5.schema.json", Format: "CycloneDX", SpecVersion: "1.5", Version: 1,
		SerialNumber: fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:16]),
		Metadata:     bomMetadata{date.Format(time.RFC3339), main},
		Components:   list, Dependencies: append([]dependency{all}, edges...),
	}, "", "  ")
	return append(b, '\n'), err
}
