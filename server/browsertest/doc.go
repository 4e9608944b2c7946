// Package browsertest opens the page of package server in a real browser and uses it as a person would. It is a
// separate module, so that the library does not depend on the browser's protocol.
package browsertest
