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
func (s *Server) patchItem(a *answer, r *http.Request, c *collection) (any, error) {
	id, err := pathID(r)
	if err != nil {
		return nil, err
	}
	var request struct {
		api.Change
		Replace bool `json:"replace,omitempty"`
	}
	if err := s.readJSON(a, r, c, &request); err != nil {
		return nil, err
	}
	if request.ID != "" && string(request.ID) != id.String() {
		return nil, bad("the URL has the id %.80q but the body %.80q", id, request.ID)
	}
	request.ID = api.ID(id.String())
	n, err := s.patch(r, c, []api.Change{request.Change}, request.Replace)
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, noItem(id)
	}
	return updated{c.about(), n, 0}, nil
}

// patchItems updates labels, tags and attributes of many items.
func (s *Server) patchItems(a *answer, r *http.Request, c *collection) (any, error) {
	var request struct {
		Items   []api.Change `json:"items"`
		Replace bool         `json:"replace,omitempty"`
	}
	if err := s.readJSON(a, r, c, &request); err != nil {
		return nil, err
	}
	switch {
	case len(request.Items) == 0:
		return nil, bad("give items to change")
	case len(request.Items) > s.limits.Batch:
		return nil, problem(http.StatusRequestEntityTooLarge, "%d items in one request: at most %d are allowed",
			len(request.Items), s.limits.Batch)
	}
	n, err := s.patch(r, c, request.Items, request.Replace)
	if err != nil {
		return nil, err
	}
	return updated{c.about(), n, len(request.Items) - n}, nil
}

func (s *Server) patch(r *http.Request, c *collection, list []api.Change, replace bool) (int, error) {
	b, err := search.Changes(list, replace)
	if err != nil {
		return 0, err
	}
	if _, err := b.Order(false); err != nil {
		return 0, bad("%v", err)
	}
	return c.write(r, "patch", func(o *opened) (int, error) { return o.store.Update(r.Context(), b, replace) })
}

// shownIDs limits the ids listed in the response to a deletion.
const shownIDs = 100

func (s *Server) deleteItem(a *answer, r *http.Request, c *collection) (any, error) {
	id, err := pathID(r)
	if err != nil {
		return nil, err
	}
	n, err := c.write(r, "delete", func(o *opened) (int, error) { return o.store.Delete(r.Context(), id) })
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, noItem(id)
	}
	return c.deleted(n, false, id), nil
}

// deleteItems deletes items by id or filter, or with dry_run lists what it would delete.
func (s *Server) deleteItems(a *answer, r *http.Request, c *collection) (any, error) {
	var request api.DeleteRequest
	if err := s.readJSON(a, r, c, &request); err != nil {
		return nil, err
	}
	if (request.Where == nil) == (request.IDs == nil) {
		return nil, bad("give either ids or where")
	}
	if len(request.IDs) > s.limits.Batch {
		return nil, problem(http.StatusRequestEntityTooLarge, "%d ids in one request: at most %d are allowed",
			len(request.IDs), s.limits.Batch)
	}
	ids, err := parseIDs(request.IDs)
	if err != nil {
		return nil, err
	}
	f := index.IDs(ids...)
	if request.Where != nil {
		if f, err = s.filter(*request.Where); err != nil {
			return nil, err
		}
		if err := f.CheckDeletion(); err != nil {
			return nil, bad("%v", err)
		}
	}
	x := c.open().snapshot()
	matches, err := x.Matches(f)
	if err != nil {
		return nil, err
	}
	deleted := c.deleted(0, request.DryRun)
	for _, h := range matches[:min(len(matches), shownIDs)] {
		deleted.IDs = append(deleted.IDs, api.ID(h.ID.String()))
	}
	if deleted.Deleted = len(matches); !request.DryRun {
		deleted.Deleted, err = c.write(r, "delete", func(o *opened) (int, error) {
			if request.Where == nil {
				return o.store.Delete(r.Context(), ids...)
			}
			return o.store.DeleteWhere(r.Context(), f)
		})
	}
	if err != nil {
		return nil, err
	}
	deleted.MoreIDs = max(deleted.Deleted-len(deleted.IDs), 0)
	return deleted, nil
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
