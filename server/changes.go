package server

import (
	"net/http"

	"hashgrove/api"
	"hashgrove/internal/index"
	"hashgrove/internal/search"
)

// updated is the response to an update.
type updated struct {
	about
	Updated int `json:"updated"`
	Missing int `json:"missing"`
}

// patchItem updates label, tags and attributes of one item.
func (s *Server) patchItem(w http.ResponseWriter, r *http.Request, c *collection) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	var request struct {
		api.Change
		Replace     bool   `json:"replace,omitempty"`
		Fingerprint string `json:"fingerprint,omitempty"`
	}
	release, err := s.readAbout(w, r, c, &request, &request.Fingerprint)
	if err != nil {
		return err
	}
	defer release()
	if request.ID != "" && string(request.ID) != id.String() {
		return bad("the URL has the id %.80q but the body %.80q", id, request.ID)
	}
	request.ID = api.ID(id.String())
	n, err := s.patch(r, c, []api.Change{request.Change}, request.Replace)
	if err != nil {
		return err
	}
	if n == 0 {
		return noItem(id)
	}
	writeJSON(w, http.StatusOK, updated{c.about(), n, 0})
	return nil
}

// patchItems updates labels, tags and attributes of many items.
func (s *Server) patchItems(w http.ResponseWriter, r *http.Request, c *collection) error {
	var request struct {
		Items       []api.Change `json:"items"`
		Replace     bool         `json:"replace,omitempty"`
		Fingerprint string       `json:"fingerprint,omitempty"`
	}
	release, err := s.readAbout(w, r, c, &request, &request.Fingerprint)
	if err != nil {
		return err
	}
	defer release()
	switch {
	case len(request.Items) == 0:
		return bad("give items to change")
	case len(request.Items) > s.limits.Batch:
		return problem(http.StatusRequestEntityTooLarge, "%d items in one request: at most %d are allowed",
			len(request.Items), s.limits.Batch)
	}
	n, err := s.patch(r, c, request.Items, request.Replace)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, updated{c.about(), n, len(request.Items) - n})
	return nil
}

func (s *Server) patch(r *http.Request, c *collection, list []api.Change, replace bool) (int, error) {
	b, err := search.Changes(list)
	if err != nil {
		return 0, err
	}
	if _, err := b.Order(false); err != nil {
		return 0, bad("%v", err)
	}
	return c.write("patch", func(o *opened) (int, error) { return o.store.Update(r.Context(), b, replace) })
}

// shownIDs limits the ids listed in the response to a deletion.
const shownIDs = 100

func (s *Server) deleteItem(w http.ResponseWriter, r *http.Request, c *collection) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	n, err := c.write("delete", func(o *opened) (int, error) { return o.store.Delete(r.Context(), id) })
	if err != nil {
		return err
	}
	if n == 0 {
		return noItem(id)
	}
	writeJSON(w, http.StatusOK, c.deleted(n, false, id))
	return nil
}

// deleteItems deletes items by id or filter, or with dry_run lists what it would delete.
func (s *Server) deleteItems(w http.ResponseWriter, r *http.Request, c *collection) error {
	var request api.DeleteRequest
	release, err := s.readAbout(w, r, c, &request, &request.Fingerprint)
	if err != nil {
		return err
	}
	defer release()
	if (request.Where == nil) == (request.IDs == nil) {
		return bad("give either ids or where")
	}
	if len(request.IDs) > s.limits.Batch {
		return problem(http.StatusRequestEntityTooLarge, "%d ids in one request: at most %d are allowed",
			len(request.IDs), s.limits.Batch)
	}
	ids, err := parseIDs(request.IDs)
	if err != nil {
		return err
	}
	f := index.IDs(ids...)
	if request.Where != nil {
		if f, err = s.filter(*request.Where); err != nil {
			return err
		}
		if err := f.CheckDeletion(); err != nil {
			return bad("%v", err)
		}
	}
	x := c.open().snapshot()
	matches, err := x.Matches(f)
	if err != nil {
		return err
	}
	a := c.deleted(0, request.DryRun)
	for _, h := range matches[:min(len(matches), shownIDs)] {
		a.IDs = append(a.IDs, api.ID(h.ID.String()))
	}
	if a.Deleted = len(matches); !request.DryRun {
		a.Deleted, err = c.write("delete", func(o *opened) (int, error) {
			if request.Where == nil {
				return o.store.Delete(r.Context(), ids...)
			}
			return o.store.DeleteWhere(r.Context(), f)
		})
	}
	if err != nil {
		return err
	}
	a.MoreIDs = max(a.Deleted-len(a.IDs), 0)
	writeJSON(w, http.StatusOK, a)
	return nil
}

// deleted builds the response to a deletion.
func (c *collection) deleted(n int, dryRun bool, ids ...index.ID) api.Deleted {
	about := c.about()
	a := api.Deleted{
		Collection: about.Collection, Fingerprint: about.Fingerprint, Deleted: n, DryRun: dryRun, IDs: []api.ID{},
	}
	for _, id := range ids {
		a.IDs = append(a.IDs, api.ID(id.String()))
	}
	return a
}

// parseIDs parses the ids of a request.
func parseIDs(texts []api.ID) (ids []index.ID, err error) {
	for _, text := range texts {
		id, err := index.ParseID(string(text))
		if err != nil {
			return nil, bad("%v", err)
		}
		ids = append(ids, id)
	}
	return ids, nil
}
