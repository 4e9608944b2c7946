package workshop_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"hashgrove/internal/workshop"
)

// A workshop is a handler: a table goes in, and an index to search in comes out.
func Example() {
	w := workshop.New(workshop.Options{
		Attach: func(_ context.Context, c workshop.Collection) error {
			fmt.Println("to be served:", c.Name)
			return nil
		},
		Detach: func(name string) error { return nil },
	})
	s := httptest.NewServer(w)
	defer s.Close()
	var table strings.Builder
	table.WriteString("width,height,kind\n")
	for i := range 80 {
		fmt.Fprintf(&table, "%d,%d,%s\n", i%10+i%2*20, i%7, []string{"hat", "boot"}[i%2])
	}
	job := read(http.Post(s.URL+"/v1/try?name=shop.csv&bits=8&train=true", "text/csv", strings.NewReader(table.String())))
	for job.State != "done" && job.State != "failed" {
		time.Sleep(50 * time.Millisecond)
		job = read(http.Get(s.URL + "/v1/try/" + job.ID))
	}
	fmt.Println(job.State, job.Collection, "learned from the column", job.Label)
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}
	// Output:
	// to be served: try-1
	// done try-1 learned from the column kind
}

func read(answer *http.Response, err error) (job workshop.Job) {
	if err != nil {
		log.Fatal(err)
	}
	defer answer.Body.Close()
	if err := json.NewDecoder(answer.Body).Decode(&job); err != nil {
		log.Fatal(err)
	}
	return job
}
