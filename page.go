package sluice

// Bounds of one page.
const (
	DefaultPage = 100
	MaxPage     = 1000
)

// Page is one page of a list, newest first where nothing else is said. Next is the cursor of the page after it,
// empty on the last one. A page may hold fewer items than asked for, even none, and still have a next one: a
// search looks at a bounded number of rows.
type Page[T any] struct {
	Items []T
	Next  string
}

// OrderQuery selects orders; fields that are zero do not narrow it. Limit is 1 to MaxPage, 0 means DefaultPage.
type OrderQuery struct {
	ID        ClaimID
	User      string
	Campaign  string
	RequestID string
	Payment   string // the reference of a payment for it
	State     OrderState
	RefundDue bool
	// NoLoadTests leaves the orders of load tests out. It has no effect beside ID, RequestID, Payment or Campaign, which
	// name what is sought.
	NoLoadTests bool
	Cursor      string
	Limit       int
}

// CouponQuery selects coupons; fields that are zero do not narrow it. Limit is 1 to MaxPage, 0 means DefaultPage.
type CouponQuery struct {
	ID        ClaimID
	Code      string // canonical
	User      string
	Campaign  string
	RequestID string
	State     CouponState // as it is written: an expiry is written some seconds after it fell due
	At        Millis      // the moment for which the items' states are told
	Cursor    string
	Limit     int
}

// PaymentQuery selects payments; fields that are zero do not narrow it. Limit is 1 to MaxPage, 0 means DefaultPage.
type PaymentQuery struct {
	Reference string
	Order     ClaimID
	Result    PaymentResult
	Cursor    string
	Limit     int
}

// Sweep is what one piece of background work came to. Next is the wall time at which more falls due, zero where nothing
// is known to; a Next that is not in the future means that more waits already.
type Sweep struct {
	Done    int
	Next    Millis
	Lag     Millis // how late the oldest of those done was, ms
	Stopped bool   // the payment clock stands still
}
