package redis

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"github.com/sluice-sale/sluice"
)

// forgetNode is after how long a silent node is taken out of the list.
const forgetNode = time.Hour

//go:embed lua/control_*.lua
var controlSources embed.FS

// Control is where nodes meet in Redis: their heartbeats, and the switches that were set while the ledger was away.
// Safe for concurrent use; every call may be repeated.
type Control struct {
	c                    *Client
	nodes, switches, rev string // keys: they share a slot
	acts                 string
	meet, keep, pending  *rueidis.Lua
}

// NewControl makes the Control of a client.
func NewControl(c *Client) (*Control, error) {
	stem := c.cfg.Prefix + ":{control}:"
	k := &Control{c: c, nodes: stem + "nodes", switches: stem + "switches", rev: stem + "rev",
		acts: stem + "acts"}
	for _, s := range []struct {
		to   **rueidis.Lua
		name string
	}{{&k.meet, "control_meet"}, {&k.keep, "control_keep"}, {&k.pending, "control_pending"}} {
		text, err := controlSources.ReadFile("lua/" + s.name + ".lua")
		if err != nil {
			return nil, fmt.Errorf("redis: %w", err)
		}
		*s.to = rueidis.NewLuaScript(string(text))
	}
	return k, nil
}

func (k *Control) exec(ctx context.Context, s *rueidis.Lua, what string, keys, args []string) ([]string, error) {
	answer, err := s.Exec(ctx, k.c.rdb, keys, args).ToMessage()
	if err != nil {
		return nil, sorted(err, "%s", what)
	}
	if !answer.IsArray() {
		one, err := answer.ToString()
		return []string{one}, err
	}
	return answer.AsStrSlice()
}

// Meet writes a node's heartbeat and gives those of all nodes, with AgeMS by the clock of Redis, and the revision of
// the pending switches. A node without an id only looks.
func (k *Control) Meet(ctx context.Context, n sluice.Node) (nodes []sluice.Node, rev int64, err error) {
	text := []byte{}
	if n.ID != "" {
		if text, err = json.Marshal(n); err != nil {
			return nil, 0, fmt.Errorf("redis: heartbeat: %w", err)
		}
	}
	out, err := k.exec(ctx, k.meet, "heartbeat", []string{k.nodes, k.rev},
		[]string{n.ID, string(text), strconv.FormatInt(forgetNode.Milliseconds(), 10)})
	if err != nil {
		return nil, 0, err
	}
	var now int64
	for i, s := range out {
		switch {
		case i == 0:
			now, err = strconv.ParseInt(s, 10, 64)
		case i == 1:
			rev, err = strconv.ParseInt(s, 10, 64)
		case i%2 == 0:
			var age int64
			age, err = strconv.ParseInt(s, 10, 64)
			nodes = append(nodes, sluice.Node{AgeMS: age})
		default:
			last := &nodes[len(nodes)-1]
			age := last.AgeMS
			err = json.Unmarshal([]byte(s), last)
			last.AgeMS, last.SeenAt = age, sluice.Millis(now-age)
		}
		if err != nil {
			return nil, 0, fmt.Errorf("redis: heartbeats: %w", err)
		}
	}
	return nodes, rev, nil
}

// Part takes a node that stops out of the list.
func (k *Control) Part(ctx context.Context, id string) error {
	err := k.c.rdb.Do(ctx, k.c.rdb.B().Hdel().Key(k.nodes).Field(id).Build()).Error()
	if err != nil {
		return sorted(err, "node %s parts", id)
	}
	return nil
}

// Pending gives the switches that are not in the ledger yet, as of rev.
func (k *Control) Pending(ctx context.Context) (all []sluice.PendingSwitch, rev int64, err error) {
	out, err := k.exec(ctx, k.pending, "pending switches", []string{k.switches, k.rev}, nil)
	if err != nil {
		return nil, 0, err
	}
	if rev, err = strconv.ParseInt(out[0], 10, 64); err != nil {
		return nil, 0, fmt.Errorf("redis: pending switches: %w", err)
	}
	for _, s := range out[1:] {
		var p sluice.PendingSwitch
		if err := json.Unmarshal([]byte(s), &p); err != nil {
			return nil, 0, fmt.Errorf("redis: pending switches: %w", err)
		}
		all = append(all, p)
	}
	return all, rev, nil
}

// Keep adds a switch and gives the revision with it. A later setting of the same switch takes the place of the one
// before, which goes to the acts.
func (k *Control) Keep(ctx context.Context, p sluice.PendingSwitch) (rev int64, err error) {
	return k.change(ctx, p, "keep")
}

// Drop takes a switch out that the ledger has, unless it was set anew since.
func (k *Control) Drop(ctx context.Context, p sluice.PendingSwitch) error {
	_, err := k.change(ctx, p, "drop")
	return err
}

// Shift takes a switch out that the ledger has in a later setting, unless it was set anew since. It stays among the
// acts.
func (k *Control) Shift(ctx context.Context, p sluice.PendingSwitch) error {
	_, err := k.change(ctx, p, "shift")
	return err
}

// Acts gives the oldest acts, 100 at most, that others have replaced before they were in the ledger.
func (k *Control) Acts(ctx context.Context) (all []sluice.PendingSwitch, err error) {
	out, err := k.c.rdb.Do(ctx, k.c.rdb.B().Lrange().Key(k.acts).Start(0).Stop(99).Build()).AsStrSlice()
	if err != nil {
		return nil, sorted(err, "acts on switches")
	}
	all = make([]sluice.PendingSwitch, len(out))
	for i, s := range out {
		if err := json.Unmarshal([]byte(s), &all[i]); err != nil {
			return nil, fmt.Errorf("redis: acts on switches: %w", err)
		}
	}
	return all, nil
}

// Noted takes out an act that the audit log has.
func (k *Control) Noted(ctx context.Context, p sluice.PendingSwitch) error {
	text, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("redis: an act on a switch: %w", err)
	}
	err = k.c.rdb.Do(ctx, k.c.rdb.B().Lrem().Key(k.acts).Count(1).Element(string(text)).Build()).Error()
	if err != nil {
		return sorted(err, "an act on a switch")
	}
	return nil
}

func (k *Control) change(ctx context.Context, p sluice.PendingSwitch, what string) (int64, error) {
	text, err := json.Marshal(p)
	if err != nil {
		return 0, fmt.Errorf("redis: %s a switch: %w", what, err)
	}
	field := p.Setting.Name + "\x00" + p.Setting.Campaign
	out, err := k.exec(ctx, k.keep, what+" a switch", []string{k.switches, k.rev, k.acts},
		[]string{field, string(text), what})
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(out[0], 10, 64)
}
