package main

import (
	"errors"
	"strings"

	"hashgrove"
	"hashgrove/api"
	"hashgrove/internal/cli"
)

// settingFlags maps the settings of the library to flags.
var settingFlags = map[string]string{
	"AttributesID": "--attributes-id",

	"Columns":    "--attribute-columns",
	"Format":     "--format",
	"ID":         "--id-column",
	"IDsFile":    "--ids",
	"Label":      "--label",
	"LabelsFile": "--labels",
	"Missing":    "--skip-bad, or train --missing",
	"SkipBad":    "--skip-bad",
	"Tags":       "--tags",
	"TagsFile":   "--tags",
	"Vector":     "--vector",
}

// usageCodes are those of errors that are mistakes in the command line.
var usageCodes = []string{"bad-filter", "empty-filter", "mixed-codes"}

// explain formats an error for the user and names the flags that help.
func explain(err error) string {
	text := cli.Plain(err).Error()
	if flag := settingFlags[hashgrove.Setting(err)]; flag != "" {
		text += " (" + flag + ")"
	}
	if errors.Is(err, api.ErrFilter) || hashgrove.HasCode(err, "empty-filter") {
		text += " (--where)"
	}
	if hashgrove.HasCode(err, "model-mismatch") {
		text += " (--model)"
	}
	if hashgrove.HasCode(err, "numbers-taken") || hashgrove.HasCode(err, "rows-without-ids") {
		text += " (--id-column, --ids)"
	}
	if errors.Is(err, api.ErrExists) {
		text += " (--upsert)"
	}
	if errors.Is(err, cli.ErrExists) {
		text += " with --force"
	}
	if hashgrove.HasCode(err, "no-supervision") {
		text += "; name them with --label, --labels, --tags or --pairs"
	}
	if errors.Is(err, api.ErrLocked) {
		text += "; what \"hashgrove serve\" has open is searched with \"hashgrove search NAME --server URL\", changed over " +
			"HTTP, and copied from URL/v1/collections/NAME/backup"
	}
	if errors.Is(err, api.ErrDamaged) && !strings.Contains(text, "restore a backup") {
		text += "; restore a backup of \"hashgrove index backup\" with \"index restore\", or make the index again with " +
			"\"index build\""
	}
	return text
}
