// Package browsertest opens the pages of package report in a real browser. It is a separate module, so that the
// library does not depend on the browser's protocol.
package browsertest
