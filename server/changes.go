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
func (s *Server) patchItem(a *answer, r *http.Request, c *collection, id index.ID) (any, error) {
	var request struct {
		api.Change
		Replace bool `json:"replace,omitempty"`
	}
	request.ID = api.ID(id.String())
	if err := s.readJSON(a, r, c, &request); err != nil {
		return nil, err
	}
	if string(request.ID) != id.String() {
		return nil, bad("the URL has the id %.80q but the body %.80q", id, request.ID)
	}
	done, err := s.patch(r, c, []api.Change{request.Change}, request.Replace)
	if err == nil && done.Missing > 0 {
		err = noItem(id)
	}
	return done, err
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
	if len(request.Items) == 0 {
		return nil, bad("give items to change")
	}
	return s.patch(r, c, request.Items, request.Replace)
}

func (s *Server) patch(r *http.Request, c *collection, list []api.Change, replace bool) (done updated, err error) {
	b, err := search.Changes(list, replace)
	if err != nil {
		return done, err
	}
	if _, err := b.Order(false); err != nil {
		return done, bad("%v", err)
	}
	n, err := c.write(r, "patch", func(o *opened) (int, error) { return o.store.Update(r.Context(), b, replace) })
	return updated{c.about(), n, len(list) - n}, err
}

// shownIDs limits the ids listed in the response to a deletion.
const shownIDs = 100

func (s *Server) deleteItem(_ *answer, r *http.Request, c *collection, id index.ID) (any, error) {
	done, err := s.remove(r, c, api.DeleteRequest{IDs: []api.ID{api.ID(id.String())}})
	if err == nil && done.Deleted == 0 {
		err = noItem(id)
	}
	return done, err
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
	return s.remove(r, c, request)
}

func (s *Server) remove(r *http.Request, c *collection, request api.DeleteRequest) (done api.Deleted, err error) {
	var ids []index.ID
	for _, text := range request.IDs {
		id, err := index.ParseID(string(text))
		if err != nil {
			return done, bad("%v", err)
		}
		ids = append(ids, id)
	}
	f := index.IDs(ids...)
	if request.Where != nil {
		if f, err = s.filter(*request.Where); err != nil {
			return done, err
		}
		if err := f.CheckDeletion(); err != nil {
			return done, bad("%v", err)
		}
	}
	matches, err := c.open().snapshot().Matches(f)
	if err != nil {
		return done, err
	}
	about := c.about()
	done = api.Deleted{
		Collection: about.Collection, Fingerprint: about.Fingerprint, Deleted: len(matches), DryRun: request.DryRun,
		IDs: []api.ID{},
	}
	for _, h := range matches[:min(len(matches), shownIDs)] {
		done.IDs = append(done.IDs, api.ID(h.ID.String()))
	}
	if !request.DryRun {
		done.Deleted, err = c.write(r, "delete", func(o *opened) (int, error) {
			if request.Where == nil {
				return o.store.Delete(r.Context(), ids...)
			}
			return o.store.DeleteWhere(r.Context(), f)
		})
	}
	done.MoreIDs = max(done.Deleted-len(done.IDs), 0)
	return done, err
}
