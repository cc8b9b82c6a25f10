package sqldb

import (
	"encoding/json"
	"fmt"

	"github.com/sluice-sale/sluice"
)

// terms is the column campaigns.terms: what a campaign says that no statement needs to look into. The names of its JSON are
// stored for good; a field that is renamed here keeps reading its old name.
type terms struct {
	Goods       sluice.Goods       `json:"goods,omitzero"`
	Coupon      sluice.CouponTerms `json:"coupon,omitzero"`
	Protection  sluice.Protection  `json:"protection,omitzero"`
	Eligibility sluice.Eligibility `json:"eligibility,omitzero"`
}

func marshalTerms(c *sluice.Campaign) (string, error) {
	b, err := json.Marshal(terms{Goods: c.Goods, Coupon: c.Coupon, Protection: c.Protection, Eligibility: c.Eligibility})
	return string(b), err
}

func parseTerms(text string) (t terms, err error) {
	if err = json.Unmarshal([]byte(text), &t); err != nil {
		return t, fmt.Errorf("sqldb: campaigns.terms: %w", err)
	}
	return t, nil
}

// paymentClock reads the clock of the unpaid windows inside the transaction.
func (t *tx) paymentClock() (c sluice.PaymentClock, err error) {
	err = t.row(`SELECT stopped_ms, since_ms FROM payment_clock WHERE one = 1`, nil, &c.Stopped, &c.Since)
	return c, err
}
