// Package browsertest holds the tests that open the pages of package report in a real browser. They are a module of
// their own, so that the browser's protocol is no dependency of the library.
package browsertest
