package compare

import (
	"runtime/debug"
	"testing"

	"hashgrove/internal/model"
)

// TestProgramsAreToldApart: rows that another program has kept are not taken, not even those of a build of the same
// revision with changed files.
func TestProgramsAreToldApart(t *testing.T) {
	build := func(modified string) []debug.BuildSetting {
		return []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.modified", Value: modified}}
	}
	one, other := func() string { return "one" }, func() string { return "other" }
	names := map[string]bool{}
	for _, name := range []string{
		programName(nil, one), programName(build("false"), one), programName(build("true"), one), programName(build("true"), other),
	} {
		names[name] = true
	}
	if len(names) != 4 || programName(build("false"), other) != model.Version+" abc" {
		t.Errorf("%v", names)
	}
	if got := executable(); len(got) != 64 || got != executable() {
		t.Errorf("the digest of the running program is %q", got)
	}
}
