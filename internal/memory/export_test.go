package memory

// Records says how many records the campaign's book has room for: used ones and those to be used again.
func (a *Admission) Records(id string) int { return int(a.find(id).book.n) }
