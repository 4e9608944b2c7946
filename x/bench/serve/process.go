package main

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// process is a server started by this program.
type process struct {
	*exec.Cmd
	address string
	said    *bytes.Buffer
}

// start runs a server; PORT in its arguments stands for a free port, on which it must answer within the given time.
func start(wait time.Duration, args ...string) (*process, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	port := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	if err := l.Close(); err != nil {
		return nil, err
	}
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "PORT", port)
	}
	p := &process{exec.Command(args[0], args[1:]...), "127.0.0.1:" + port, new(bytes.Buffer)}
	p.Stdout, p.Stderr = p.said, p.said
	if err := p.Start(); err != nil {
		return nil, err
	}
	for began := time.Now(); time.Since(began) < wait; time.Sleep(20 * time.Millisecond) {
		if c, err := net.Dial("tcp", p.address); err == nil {
			return p, c.Close()
		}
	}
	p.stop()
	return nil, fmt.Errorf("%s does not listen after %v: %s", strings.Join(args, " "), wait, p.said)
}

func (p *process) stop() {
	_ = p.Process.Kill()
	_ = p.Wait()
}

// cpu returns the CPU time of the process, including ended threads. The system counts it in hundredths of a second.
func (p *process) cpu() time.Duration {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.Process.Pid))
	check(err)
	_, text, _ := strings.Cut(string(b), ") ") // the name may have spaces
	f := strings.Fields(text)
	user, err := strconv.Atoi(f[11])
	check(err)
	system, err := strconv.Atoi(f[12])
	check(err)
	return time.Duration(user+system) * 10 * time.Millisecond
}

// memory returns the resident memory of the process in bytes.
func (p *process) memory() (int, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Process.Pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "VmRSS:" {
			n, err := strconv.Atoi(f[1])
			return n << 10, err
		}
	}
	return 0, errors.New("no VmRSS")
}
