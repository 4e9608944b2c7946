// Package redistest starts a Redis 8 server for tests, in a temporary folder and on a Unix socket. install.sh fetches
// one if the machine has none.
package redistest

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"hashgrove/internal/testkit/needs"
)

// Password of the server.
const Password = "a secret of the test"

// Server is a Redis server that writes every command to a file before answering, so that Stop loses nothing.
type Server struct {
	URL    string // without the password
	Socket string

	program, folder string
	cmd             *exec.Cmd
	ended           chan struct{}
}

// cache is where install.sh puts the server; read early, because a test may set another cache folder.
var cache, _ = os.UserCacheDir()

// Start starts a server that requires the password, and stops it when the test ends. It skips the test if there is no
// Redis 8.
func Start(t testing.TB) *Server {
	t.Helper()
	program := findProgram()
	if program == "" {
		needs.Skip(t, needs.Redis, "\"make setup\" fetches one")
	}
	folder, err := os.MkdirTemp("", "hgredis") // short, because socket paths must be
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	s := &Server{Socket: filepath.Join(folder, "socket"), program: program, folder: folder}
	s.URL = "redis+unix://" + s.Socket
	s.Restart(t)
	t.Cleanup(func() { s.Stop(t) })
	return s
}

// Available reports whether there is a Redis 8 to start.
func Available() bool { return findProgram() != "" }

var version = regexp.MustCompile(`v=([89]|[1-9][0-9])\.`)

// findProgram returns the path of a server of version 8 or later, or "".
func findProgram() string {
	places := []string{filepath.Join(cache, "hashgrove-test", "redis-8", "redis-server")}
	if path, err := exec.LookPath("redis-server"); err == nil {
		places = append([]string{path}, places...)
	}
	for _, place := range places {
		if out, err := exec.Command(place, "-v").Output(); err == nil && version.Match(out) {
			return place
		}
	}
	return ""
}

// Restart starts the server again after Stop, with its data.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	log, err := os.OpenFile(filepath.Join(s.folder, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	os.Remove(s.Socket)
	s.cmd = exec.Command(s.program, "-") // its configuration follows on standard input
	s.cmd.Stdin = strings.NewReader(fmt.Sprintf("port 0\nunixsocket %s\ndir %s\nsave \"\"\nappendonly yes\n"+
		"appendfsync no\nrequirepass \"%s\"\n", s.Socket, s.folder, Password))
	s.cmd.Stdout, s.cmd.Stderr = log, log
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.ended = make(chan struct{})
	go func(cmd *exec.Cmd, ended chan struct{}) {
		_ = cmd.Wait()
		close(ended)
	}(s.cmd, s.ended)
	for {
		if s.answers() {
			return
		}
		select {
		case <-s.ended:
			text, _ := os.ReadFile(filepath.Join(s.folder, "log"))
			t.Fatalf("the server ended: %s", text)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// answers reports whether the server has loaded its file and responds.
func (s *Server) answers() bool {
	line, err := s.send("PING")
	return err == nil && line == "+PONG"
}

// Do sends a command, as words separated by spaces, and returns the first line of the answer.
func (s *Server) Do(t testing.TB, command string) string {
	t.Helper()
	line, err := s.send(command)
	if err != nil {
		t.Fatal(err)
	}
	return line
}

func (s *Server) send(command string) (string, error) {
	c, err := net.Dial("unix", s.Socket)
	if err != nil {
		return "", err
	}
	defer c.Close()
	fmt.Fprintf(c, "AUTH \"%s\"\r\n%s\r\n", Password, command)
	in := bufio.NewReader(c)
	if _, err := in.ReadString('\n'); err != nil {
		return "", err
	}
	line, err := in.ReadString('\n')
	return strings.TrimSpace(line), err
}

// Pipe sends a file of commands with redis-cli and returns its output.
func (s *Server) Pipe(t testing.TB, path string) string {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	words := append(client(), "-s", s.Socket, "--pipe")
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Stdin, cmd.Env = file, append(os.Environ(), "REDISCLI_AUTH="+Password)
	out, _ := cmd.CombinedOutput() // it fails if the server answers with an error
	return string(out)
}

// client returns the command line of redis-cli: the machine's, or the one unpacked by install.sh.
func client() []string {
	if path, err := exec.LookPath("redis-cli"); err == nil {
		return []string{path}
	}
	root := filepath.Join(cache, "hashgrove-test", "redis-8", "root", "usr")
	for _, pattern := range []string{"lib*", "lib/*"} {
		loaders, _ := filepath.Glob(filepath.Join(root, pattern, "ld-linux*.so.*"))
		libraries, _ := filepath.Glob(filepath.Join(root, "lib", "*-linux-gnu*"))
		if len(loaders) > 0 && len(libraries) > 0 {
			return []string{loaders[0], "--library-path", libraries[0], filepath.Join(root, "bin", "redis-cli")}
		}
	}
	return []string{"redis-cli"}
}

// Stop ends the server at once, like a crash.
func (s *Server) Stop(testing.TB) {
	_ = s.cmd.Process.Kill()
	<-s.ended
}
