package par

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

func TestDescriptionCountsTheCores(t *testing.T) {
	got := Description()
	prefix := fmt.Sprintf("%d cores of ", runtime.NumCPU())
	if name, ok := strings.CutPrefix(got, prefix); !ok || strings.TrimSpace(name) == "" || strings.Contains(name, "\n") {
		t.Errorf("the machine is described as %q", got)
	}
}
