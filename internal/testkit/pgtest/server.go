// Package pgtest starts a PostgreSQL server for tests: its own cluster in a temporary folder, on a Unix socket.
package pgtest

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"hashgrove/internal/testkit/needs"
)

// Password of the user hashgrove.
const Password = "a secret of the test"

// Server is a PostgreSQL server.
type Server struct {
	URL string // without the password

	folder, programs, account string
}

// Start starts a server that requires the password, and stops it when the test ends. It skips the test if there is no
// PostgreSQL. The server has the extension pgvector if that could be compiled.
func Start(t testing.TB) *Server {
	t.Helper()
	needs.Check(t, "starts PostgreSQL")
	programs := findPrograms()
	if programs == "" {
		needs.Skip(t, needs.Postgres, "\"make setup\" installs the package postgresql")
	}
	folder, err := os.MkdirTemp("", "hgpg") // short, because socket paths must be
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	s := &Server{
		URL:    fmt.Sprintf("postgres://hashgrove@/postgres?host=%s&sslmode=disable", folder),
		folder: folder, programs: withVector(t, programs, filepath.Join(folder, "server")),
	}
	words := filepath.Join(folder, "password")
	if err := os.WriteFile(words, []byte(Password+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.chooseAccount(t)
	// A collation other than bytes reveals comparisons that forget to ask for bytes.
	create := []string{"initdb", "-D", filepath.Join(folder, "data"), "-U", "hashgrove", "-A", "scram-sha-256",
		"--pwfile", words, "-E", "UTF8", "--no-sync", "--locale=C.UTF-8"}
	if s.run(t, append(slices.Clip(create), "--locale-provider=icu", "--icu-locale=en")...) != nil {
		os.RemoveAll(filepath.Join(folder, "data"))
		if err := s.run(t, create...); err != nil {
			t.Fatal(err)
		}
	}
	s.Restart(t)
	t.Cleanup(func() { s.Stop(t) })
	return s
}

// Available reports whether there is a PostgreSQL to start.
func Available() bool { return findPrograms() != "" }

// findPrograms returns the folder of the server's programs, which Debian keeps out of the path.
func findPrograms() string {
	places, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	if path, err := exec.LookPath("pg_ctl"); err == nil {
		places = append(places, filepath.Dir(path))
	}
	for _, place := range slices.Backward(places) {
		if _, err := os.Stat(filepath.Join(place, "initdb")); err == nil {
			return place
		}
	}
	return ""
}

// chooseAccount gives the folder and its contents to another user if root runs the tests, because PostgreSQL refuses to
// run as root.
func (s *Server) chooseAccount(t testing.TB) {
	if os.Geteuid() != 0 {
		return
	}
	for _, name := range []string{"postgres", "nobody"} {
		account, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, _ := strconv.Atoi(account.Uid)
		gid, _ := strconv.Atoi(account.Gid)
		err = filepath.WalkDir(s.folder, func(path string, _ fs.DirEntry, err error) error {
			return cmp.Or(err, os.Lchown(path, uid, gid))
		})
		if err != nil {
			t.Fatal(err)
		}
		s.account = name
		return
	}
	t.Fatal("there is neither a user postgres nor nobody to run the server")
}

// run runs a program of the server.
func (s *Server) run(t testing.TB, args ...string) error {
	args[0] = filepath.Join(s.programs, args[0])
	if s.account != "" {
		args = append([]string{"runuser", "-u", s.account, "--"}, args...)
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = s.folder
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8")
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%v: %w\n%s", args, err, out)
		t.Log(err)
	}
	return err
}

// Restart starts the server again after Stop.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	err := s.run(t, "pg_ctl", "-D", filepath.Join(s.folder, "data"), "-l", filepath.Join(s.folder, "log"), "-w", "-s",
		"-o", "-k "+s.folder+" -c listen_addresses='' -c fsync=off -c max_connections=40", "start")
	if err != nil {
		log, _ := os.ReadFile(filepath.Join(s.folder, "log"))
		t.Fatalf("%s", log)
	}
}

// Stop ends the server at once, like a crash; uncommitted transactions are lost.
func (s *Server) Stop(t testing.TB) {
	if _, err := os.Stat(filepath.Join(s.folder, "data", "postmaster.pid")); err == nil {
		_ = s.run(t, "pg_ctl", "-D", filepath.Join(s.folder, "data"), "-m", "immediate", "-w", "-s", "stop")
	}
}
