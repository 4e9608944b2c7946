// Package sqlitetest reads the files that package engine makes with the program sqlite3 in another SQLite, compiled to
// Go. It is a module of its own, so that no driver is a dependency of the library.
package sqlitetest
