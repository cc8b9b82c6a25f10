package config

// nearest gives the known name with the fewest edits from name, or "" where even that one is too far to be meant.
func nearest(name string, known []string) string {
	best, bestAt := "", len(name)/2+1
	for _, k := range known {
		if d := edits(name, k); d < bestAt {
			best, bestAt = k, d
		}
	}
	return best
}

// edits counts the insertions, deletions and replacements between a and b.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			next := diagonal
			if a[i-1] != b[j-1] {
				next = 1 + min(diagonal, row[j], row[j-1])
			}
			diagonal, row[j] = row[j], next
		}
	}
	return row[len(b)]
}
