package gpu

// EndShared ends the child that trainings of this process share.
func EndShared() {
	shared.Lock()
	defer shared.Unlock()
	if shared.child != nil {
		shared.child.close()
		shared.child = nil
	}
}
