package analysis

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/sluice-sale/sluice"
)

// clusters finds the groups of accounts that look like one hand. A shared address alone never makes one: people behind
// one carrier have devices of their own, claim as often as others and come when they come.
func (a *Analyzer) clusters() []sluice.Cluster {
	found := []sluice.Cluster{}
	for i := range a.devices.counters {
		c := &a.devices.counters[i]
		if n := c.users.count(); n >= deviceCrowd {
			found = append(found, sluice.Cluster{
				Kind: "device", Key: c.label, Accounts: n, Claims: c.count, Units: c.units,
				Why: fmt.Sprintf("%d accounts on one device", n),
			})
		}
	}
	mean := a.meanClaims()
	for i := range a.subnets.counters {
		if c, ok := subnetCluster(&a.subnets.counters[i], mean); ok {
			found = append(found, c)
		}
	}
	found = append(found, a.timing()...)
	slices.SortFunc(found, func(x, y sluice.Cluster) int {
		return cmp.Or(cmp.Compare(y.Units, x.Units), cmp.Compare(y.Accounts, x.Accounts),
			cmp.Compare(y.Claims, x.Claims), cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Key, y.Key))
	})
	return found[:min(len(found), maxClusters)]
}

// meanClaims gives the claims an account of the campaign.
func (a *Analyzer) meanClaims() float64 {
	users := a.seen[kindUser].count()
	if users == 0 {
		return 0
	}
	return float64(a.lines) / float64(users)
}

func subnetCluster(c *counter, mean float64) (sluice.Cluster, bool) {
	accounts, devices := c.users.count(), c.other.count()
	if accounts < subnetCrowd {
		return sluice.Cluster{}, false
	}
	out := sluice.Cluster{
		Kind: "subnet", Key: c.label, Accounts: accounts, Devices: devices, Claims: c.count, Units: c.units,
	}
	claims := float64(c.count-c.over) / float64(accounts)
	switch {
	case devices > 0 && float64(accounts) >= perDevice*float64(devices):
		on := "one device"
		if devices > 1 {
			on = fmt.Sprintf("%d devices", devices)
		}
		out.Why = fmt.Sprintf("%d accounts on %s of one subnet", accounts, on)
	case claims >= perAccount*mean:
		out.Why = fmt.Sprintf("%.1f claims an account, %.1f elsewhere", claims, mean)
	default:
		return sluice.Cluster{}, false
	}
	return out, true
}

// timing finds subnets whose accounts came at the same moment; of several moments of a subnet it tells the largest.
func (a *Analyzer) timing() []sluice.Cluster {
	best := map[uint64]sluice.Cluster{}
	for i := range a.moments.counters {
		m := &a.moments.counters[i]
		together := m.users.count()
		if together < timingCrowd {
			continue
		}
		subnet := binary.LittleEndian.Uint64([]byte(m.label[:8]))
		at := sluice.Millis(binary.LittleEndian.Uint64([]byte(m.label[8:])))
		c := a.subnets.find(subnet)
		if c == nil || best[subnet].Accounts >= together {
			continue
		}
		all := max(together, c.users.count())
		if float64(together) < timingShare*float64(all) {
			continue
		}
		best[subnet] = sluice.Cluster{
			Kind: "timing", Key: c.label + " at " + at.Time().UTC().Format("15:04:05.000"), Accounts: together,
			Devices: c.other.count(), Claims: m.count, Units: c.units,
			Why: fmt.Sprintf("%d of %d accounts of the subnet came within %d ms", together, all, slotMS),
		}
	}
	out := make([]sluice.Cluster, 0, len(best))
	for _, c := range best {
		out = append(out, c)
	}
	return out
}
