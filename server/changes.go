package server

import (
	"net/http"

	"hashgrove/internal/index"
)

// details is what to change about an item.
type details struct {
	ID         *index.ID              `json:"id,omitempty"`
	Label      string                 `json:"label,omitempty"`
	Tags       []string               `json:"tags,omitempty"`
	Attributes map[string]index.Value `json:"attributes,omitempty"`
}

// updated is the answer to a change of details.
type updated struct {
	about
	Updated int `json:"updated"`
	Missing int `json:"missing"`
}

// patchItem changes label, tags and attributes of one item.
func (s *Server) patchItem(w http.ResponseWriter, r *http.Request, c *collection) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	var request struct {
		details
		Replace     bool   `json:"replace,omitempty"`
		Fingerprint string `json:"fingerprint,omitempty"`
	}
	release, err := s.readAbout(w, r, c, &request, &request.Fingerprint)
	if err != nil {
		return err
	}
	defer release()
	if request.ID != nil && *request.ID != id {
		return bad("the address names the id %.80q and the request %.80q", id, request.ID)
	}
	request.ID = &id
	n, err := s.patch(r, c, []details{request.details}, request.Replace)
	if err != nil {
		return err
	}
	if n == 0 {
		return noItem(id)
	}
	writeJSON(w, http.StatusOK, updated{c.about(), n, 0})
	return nil
}

// patchItems changes label, tags and attributes of many items.
func (s *Server) patchItems(w http.ResponseWriter, r *http.Request, c *collection) error {
	var request struct {
		Items       []details `json:"items"`
		Replace     bool      `json:"replace,omitempty"`
		Fingerprint string    `json:"fingerprint,omitempty"`
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
		return problem(http.StatusRequestEntityTooLarge, "%d items in one request, and at most %d are allowed",
			len(request.Items), s.limits.Batch)
	}
	n, err := s.patch(r, c, request.Items, request.Replace)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, updated{c.about(), n, len(request.Items) - n})
	return nil
}

func (s *Server) patch(r *http.Request, c *collection, list []details, replace bool) (int, error) {
	b := &index.Batch{}
	for i, d := range list {
		if d.ID == nil {
			return 0, inItem(i, bad("it has no id"))
		}
		b.IDs, b.Labels = append(b.IDs, *d.ID), append(b.Labels, d.Label)
		b.Tags, b.Attributes = append(b.Tags, d.Tags), append(b.Attributes, d.Attributes)
	}
	if err := b.CheckDetails(); err != nil {
		return 0, bad("%v", err)
	}
	return c.write("patch", func(o *opened) (int, error) { return o.store.Update(r.Context(), b, replace) })
}

// deleted is the answer to a deletion.
type deleted struct {
	about
	Deleted int        `json:"deleted"`
	DryRun  bool       `json:"dry_run"`
	IDs     []index.ID `json:"ids"` // the first ones
}

// shownIDs is the number of ids that an answer to a deletion has.
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
	writeJSON(w, http.StatusOK, deleted{c.about(), n, false, []index.ID{id}})
	return nil
}

// deleteItems removes items by id or by filter, or says which it would.
func (s *Server) deleteItems(w http.ResponseWriter, r *http.Request, c *collection) error {
	var request struct {
		IDs         []index.ID `json:"ids,omitempty"`
		Where       *string    `json:"where,omitempty"`
		DryRun      bool       `json:"dry_run,omitempty"`
		Fingerprint string     `json:"fingerprint,omitempty"`
	}
	release, err := s.readAbout(w, r, c, &request, &request.Fingerprint)
	if err != nil {
		return err
	}
	defer release()
	if (request.Where == nil) == (request.IDs == nil) {
		return bad("give ids or where, one of them")
	}
	if len(request.IDs) > s.limits.Batch {
		return problem(http.StatusRequestEntityTooLarge, "%d ids in one request, and at most %d are allowed",
			len(request.IDs), s.limits.Batch)
	}
	f := index.IDs(request.IDs...)
	if request.Where != nil {
		if *request.Where == "" {
			return bad("an empty filter would delete everything: to do that, use has id")
		}
		if f, err = s.filter(*request.Where); err != nil {
			return err
		}
	}
	a := deleted{about: c.about(), DryRun: request.DryRun, IDs: []index.ID{}}
	x := c.open().snapshot()
	matches, err := x.Matches(f)
	if err != nil {
		return err
	}
	for _, h := range matches[:min(len(matches), shownIDs)] {
		a.IDs = append(a.IDs, h.ID)
	}
	if a.Deleted = len(matches); !request.DryRun {
		a.Deleted, err = c.write("delete", func(o *opened) (int, error) {
			if request.Where == nil {
				return o.store.Delete(r.Context(), request.IDs...)
			}
			return o.store.DeleteWhere(r.Context(), f)
		})
	}
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, a)
	return nil
}
