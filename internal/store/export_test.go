package store

import "hashgrove/internal/index"

// Quick leaves out syncs, which no power cut will miss.
func (s *Store) Quick() { s.file.NoSync = true }

// OnDisk returns how many items the file says that it has.
func (s *Store) OnDisk() int { return int(s.state.items) }

// Expected is what an index should hold.
type Expected = expected

func (w expected) Put(b *index.Batch) { w.put(b) }

func (w expected) Update(b *index.Batch, replace bool) int { return w.update(b, replace) }
