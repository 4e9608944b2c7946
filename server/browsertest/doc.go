// Package browsertest holds the tests that open the page of package server in a real browser and use it as a person
// would. They are a module of their own, so that the browser's protocol is no dependency of the library.
package browsertest
