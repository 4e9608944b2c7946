// Package sqlitetest reads the files that package engine makes with the program sqlite3 in another SQLite, compiled
// to Go. It is a separate module, so that the library depends on no driver.
package sqlitetest
