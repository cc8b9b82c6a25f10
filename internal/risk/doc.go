// Package risk counts what buyers do and says of whom an operator's rules want something done: nothing, a record, a
// challenge, a slower pace, or a block for a time. It also bounds how many unpaid orders one user or device may hold.
//
// A rule is one line of text. What the rules count lies in tables of a fixed size: a claim costs no I/O and no
// allocation, and ten million addresses take no more memory than ten. Where a table is full the quietest entry is
// forgotten, so that the tables err on the side of the buyer. Nodes tell each other about once a second what they
// counted.
//
// The package does not decide claims: the gate asks it and acts. It never blocks or slows anybody by address alone.
package risk
