package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hashgrove"
	"hashgrove/internal/cli"
	"hashgrove/server"
	"hashgrove/server/workshop"
)

type serveCommand struct {
	*app
	model, listen                string
	tokenFile, readTokenFile     string
	certificate, key             string
	pictures, vectors, reports   []string
	idFiles                      []string
	folder                       string
	hosts, origins               []string
	readOnly, noTrain            bool
	logs, idColumn               string
	try                          workshop.Options
	limits                       server.Limits
	readToken, writeToken, shown string
}

func (a *app) serve() *cobra.Command {
	c := &serveCommand{app: a}
	cmd := &cobra.Command{
		Use:   "serve [[NAME=]INDEX]...",
		Short: "Answer searches over HTTP, with a web page",
		Long: `Open indexes once and answer searches over HTTP until interrupted. Every index is a collection, named after
its file, or by NAME=INDEX. Without an index, the demo's pictures of clothes are served; the first start trains on them,
which takes less than a minute.

The page at / searches, explains matches, maps the items and measures the codes. /openapi.json describes the requests;
docs/serve.md explains them with examples. /healthz, /readyz and /metrics are for machines.

The service listens on loopback, port 8080, and anyone on this machine may use it. Another address (--listen) needs a
token: the one in --token-file, or one generated at the start and shown once. --read-token-file names a second token,
for reading only. Clients send it as Authorization: Bearer TOKEN. Use TLS (--tls-cert, --tls-key) where others can
listen in.

--pictures shows items as pictures, --vectors lets searches rerank and explain by the items' vectors, and --report shows
a report of compare; with several collections, each takes NAME=DATA.

--collections names a folder for collections that are created over HTTP (PUT /v1/collections/NAME with a model), filled
and dropped; those in it are served again at the next start.

Writes are acknowledged when they are on disk. To replace an index while it is served, move the new file to its name and
send POST /v1/collections/NAME/reload. SIGTERM and Ctrl-C stop the service once running requests are answered.`,
		Example: `  hashgrove serve
  hashgrove serve items.hgi --vectors items.csv --id-column sku
  hashgrove serve shop=items.hgi --listen :8080 --token-file token.txt --read-only`,
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args) },
	}
	c.bind(cmd.Flags())
	return cmd
}

func (c *serveCommand) bind(f *pflag.FlagSet) {
	f.StringVarP(&c.model, "model", "m", "", "`MODEL` for indexes that were built from codes and have none")
	f.StringArrayVar(&c.pictures, "pictures", nil,
		"`[NAME=]DATA` with the pictures of the items: a folder, a tar, CIFAR or IDX files; may be repeated")
	f.StringArrayVar(&c.vectors, "vectors", nil,
		"`[NAME=]DATA` with the vectors of the items, for reranking and explaining; kept in memory; may be repeated")
	f.StringArrayVar(&c.idFiles, "ids", nil,
		"`[NAME=]FILE` with the ids of --vectors, one for each row; may be repeated, for other collections")
	f.StringVar(&c.idColumn, "id-column", "", "`COLUMN` or key with the ids in the data of --vectors and --pictures")
	f.StringArrayVar(&c.reports, "report", nil, "`[NAME=]FILE` with a report to show; may be repeated")
	f.StringVar(&c.folder, "collections", "", "`FOLDER` for collections that are created over HTTP")
	f.BoolVar(&c.readOnly, "read-only", false, "refuse all changes, and open the indexes for reading only")
	cli.Group(f, "Collections")
	f.StringVar(&c.listen, "listen", "127.0.0.1:8080", "`ADDRESS` and port to listen on")
	f.StringVar(&c.tokenFile, "token-file", "", "`FILE` with the token that allows everything")
	f.StringVar(&c.readTokenFile, "read-token-file", "", "`FILE` with a token that allows reading only")
	f.StringVar(&c.certificate, "tls-cert", "", "`FILE` with the certificate, for HTTPS")
	f.StringVar(&c.key, "tls-key", "", "`FILE` with its key")
	f.StringArrayVar(&c.hosts, "host", nil,
		"host `NAME` that requests may use; by default any, or on loopback only the names of this machine")
	f.StringArrayVar(&c.origins, "cors", nil, "web `SITE` whose pages may use the service, such as https://shop.example")
	cli.Group(f, "Access")
	f.StringVar(&c.logs, "log", "changes", "`REQUESTS` to log: all, changes (and errors), errors, or off")
	usual := server.Limits{}.WithDefaults()
	f.IntVar(&c.limits.K, "max-k", usual.K, "maximum number of `HITS` per query")
	f.IntVar(&c.limits.Batch, "max-batch", usual.Batch, "maximum number of `ROWS` per request")
	f.Int64Var(&c.limits.Body, "max-body", usual.Body, "maximum number of `BYTES` per request")
	f.IntVar(&c.limits.Searches, "max-searches", 0,
		"maximum number of `SEARCHES` at a time; others wait; 0 means twice the cores")
	cli.Group(f, "Limits")
	f.BoolVar(&c.noTrain, "no-train", false, "do not let people upload data to train on")
	f.Int64Var(&c.try.MaxBytes, "try-limit", usual.Upload, "maximum number of `BYTES` of an upload")
	bindDevice(f, &c.try.Device)
	cli.Group(f, "Try your own")
}

func (c *serveCommand) run(ctx context.Context, args []string) (err error) {
	if err := c.check(); err != nil {
		return err
	}
	host, err := c.readTokens()
	if err != nil {
		return err
	}
	config, err := c.tlsConfig()
	if err != nil {
		return err
	}
	// Take the port first, because opening indexes may take a while.
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.listen)
	if err != nil {
		return fmt.Errorf("--listen %s: %w", c.listen, err)
	}
	defer func() { _ = l.Close() }()
	collections, err := c.collections(ctx, args)
	if err != nil {
		return err
	}
	o := server.Options{
		Collections: collections, Folder: c.folder, ReadToken: c.readToken, WriteToken: c.writeToken, ReadOnly: c.readOnly,
		Hosts: c.hosts, Origins: c.origins, Limits: c.limits, Threads: c.threads, Log: c.logger(), LogAll: c.logs == "all",
	}
	if len(o.Hosts) == 0 && isLoopback(host) {
		o.Hosts = append([]string{host}, server.Loopback()...)
	}
	o.Limits.Upload = c.try.MaxBytes
	if !c.noTrain && !c.readOnly {
		o.Try = c.try.Mount
	}
	s, err := server.New(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	c.welcome(l.Addr(), config != nil, collections)
	cli.Unhurried(ctx)
	if err := s.Serve(ctx, l, config); err != nil {
		return err
	}
	c.note("stopped")
	return nil
}

// check validates the command line before any file is opened.
func (c *serveCommand) check() error {
	switch {
	case (c.certificate == "") != (c.key == ""):
		return cli.Usage("missing-flag", "--tls-cert and --tls-key must be given together")
	case !slices.Contains([]string{"all", "changes", "errors", "off"}, c.logs):
		return cli.Usage("bad-flag-value", "--log %s: choose all, changes, errors or off", c.logs)
	case c.limits.K < 1 || c.limits.Batch < 1 || c.limits.Body < 1 || c.limits.Searches < 0:
		return cli.Usagef("--max-k, --max-batch, --max-body: give 1 or more")
	case c.try.MaxBytes < 1:
		return cli.Usagef("--try-limit %d: give 1 or more bytes, or --no-train", c.try.MaxBytes)
	}
	if err := (hashgrove.Options{Device: c.try.Device}).Check(); err != nil {
		return usage(err)
	}
	for _, site := range c.origins {
		if !regexp.MustCompile(`^https?://[^/?#]+$`).MatchString(site) {
			return cli.Usage("bad-flag-value", "--cors %s: give a site such as https://shop.example, without a path", site)
		}
	}
	return nil
}

// readTokens reads the tokens, or generates one if the address is reachable from other machines. It returns the host
// to listen on.
func (c *serveCommand) readTokens() (host string, err error) {
	if host, _, err = net.SplitHostPort(c.listen); err != nil {
		return "", cli.Usage("bad-flag-value",
			"--listen %s: give an address and a port, such as 127.0.0.1:8080 or :8080", c.listen)
	}
	for _, t := range []struct {
		flag, path string
		to         *string
	}{{"--token-file", c.tokenFile, &c.writeToken}, {"--read-token-file", c.readTokenFile, &c.readToken}} {
		if t.path == "" {
			continue
		}
		if *t.to, err = readSecret(t.path); err != nil {
			return "", fmt.Errorf("%s: %w", t.flag, err)
		}
		if len(*t.to) < 16 || strings.ContainsAny(*t.to, " \t") {
			return "", cli.Usage("bad-token", "%s %s: a token is one word of 16 characters or more", t.flag, t.path)
		}
	}
	switch {
	case c.writeToken != "" && c.writeToken == c.readToken:
		return "", cli.Usage("same-token", "--token-file and --read-token-file have the same token")
	case c.writeToken == "" && (c.readToken != "" || !isLoopback(host)):
		b := make([]byte, 24)
		_, _ = rand.Read(b) // never fails
		c.writeToken = base64.RawURLEncoding.EncodeToString(b)
		c.shown = c.writeToken
	}
	return host, nil
}

// isLoopback reports whether only this machine can reach host.
func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func (c *serveCommand) tlsConfig() (*tls.Config, error) {
	if c.certificate == "" {
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(c.certificate, c.key)
	if err != nil {
		return nil, fmt.Errorf("--tls-cert, --tls-key: %w", err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, nil
}

// collections builds the options of each collection to serve.
func (c *serveCommand) collections(ctx context.Context, args []string) ([]server.CollectionOptions, error) {
	if len(args) == 0 {
		if c.folder != "" && len(c.pictures)+len(c.vectors)+len(c.reports) == 0 && c.model == "" {
			return nil, nil // those of the folder only
		}
		if len(c.pictures)+len(c.vectors)+len(c.reports) > 0 || c.model != "" {
			return nil, cli.Usage("no-index", "serve needs an index for these flags; without any flag it serves the demo")
		}
		demo, err := c.demoCollection(ctx)
		return []server.CollectionOptions{demo}, err
	}
	var m []byte
	if c.model != "" {
		var err error
		if m, err = os.ReadFile(c.model); err != nil {
			return nil, err
		}
	}
	var list []server.CollectionOptions
	for _, arg := range args {
		name, path := collectionArgument(arg)
		p := c.startProgress("opening "+name, 0)
		list = append(list,
			server.CollectionOptions{Name: name, Path: path, Model: m, IDColumn: c.idColumn, Progress: p.Count})
	}
	for _, f := range []struct {
		flag   string
		values []string
		to     func(o *server.CollectionOptions) *string
	}{
		{"--pictures", c.pictures, func(o *server.CollectionOptions) *string { return &o.Pictures }},
		{"--vectors", c.vectors, func(o *server.CollectionOptions) *string { return &o.Vectors }},
		{"--ids", c.idFiles, func(o *server.CollectionOptions) *string { return &o.IDs }},
		{"--report", c.reports, func(o *server.CollectionOptions) *string { return &o.Report }},
	} {
		if err := assign(list, f.flag, f.values, f.to); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// assign distributes the values of a flag to the collections.
func assign(
	list []server.CollectionOptions, flag string, values []string, to func(o *server.CollectionOptions) *string,
) error {
	for _, v := range values {
		name, path, ok := strings.Cut(v, "=")
		at := slices.IndexFunc(list, func(o server.CollectionOptions) bool { return o.Name == name })
		if !ok || at < 0 {
			if len(list) > 1 {
				return cli.Usage("which-collection", "%s %s: with several collections, write NAME=DATA", flag, v)
			}
			at, path = 0, v
		}
		field := to(&list[at])
		if *field != "" && flag == "--pictures" {
			list[at].More = append(list[at].More, path)
			continue
		}
		if *field != "" {
			return cli.Usagef("%s: the collection %s already has one", flag, list[at].Name)
		}
		*field = path
	}
	return nil
}

// collectionArgument splits NAME=INDEX. If the part before an equals sign is not a valid name, the whole argument is
// a path.
func collectionArgument(arg string) (name, path string) {
	name, path, ok := strings.Cut(arg, "=")
	if ok && strings.ContainsAny(name, `/\:`) {
		_, err := os.Stat(arg)
		ok = err != nil
	}
	if !ok {
		return collectionName(arg), arg
	}
	return name, path
}

// collectionName derives a collection name from a file name, keeping only characters valid in a URL.
func collectionName(path string) string {
	name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	name = regexp.MustCompile(`[^A-Za-z0-9._-]+`).ReplaceAllString(name, "-")
	return cmp.Or(strings.Trim(name, "-._"), "items")
}

// logger logs to standard error at the level of --log.
func (c *serveCommand) logger() *slog.Logger {
	level := slog.LevelInfo
	switch c.logs {
	case "off":
		return nil
	case "errors":
		level = slog.LevelWarn
	}
	return slog.New(slog.NewTextHandler(c.err, &slog.HandlerOptions{Level: level}))
}

// welcome prints the address of the service and an example request.
func (c *serveCommand) welcome(at net.Addr, secure bool, collections []server.CollectionOptions) {
	scheme, host := "http", at.String()
	if secure {
		scheme = "https"
	}
	if _, port, err := net.SplitHostPort(host); err == nil && strings.HasPrefix(host, "[::]:") {
		host = "localhost:" + port // listening on all addresses: others must know the host name
	}
	token := ""
	if c.writeToken != "" {
		token = ` -H "Authorization: Bearer $TOKEN"`
	}
	if c.shown != "" {
		fmt.Fprintf(c.out, "Token (shown only once): %s\n", c.shown)
	}
	if listen, _, err := net.SplitHostPort(c.listen); err == nil && !secure && c.writeToken != "" && !isLoopback(listen) {
		c.warn([]string{"without TLS, others on the network can read requests and the token: use --tls-cert and --tls-key"})
	}
	example := ""
	if len(collections) > 0 {
		example = "/" + collections[0].Name + "/items?limit=1"
	}
	fmt.Fprintf(c.out, "Serving %s://%s  try: curl%s '%s://%s/v1/collections%s'\n",
		scheme, host, token, scheme, host, example)
}
