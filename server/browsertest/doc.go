// Package browsertest opens the page of package server and the pages of package report in a real browser, and uses
// them as a person would. It is a separate module, so that the library does not depend on the browser's protocol.
package browsertest
