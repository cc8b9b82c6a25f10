package chaos

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-sale/sluice/internal/servers"
)

// Cell is one part broken in one way.
type Cell struct {
	Target, Fault string
	Shape         Shape
	// Loses: the gate may forget what it has promised, so that a newcomer can get a unit that was promised before anybody
	// notices. Then a promised claim may end as a recorded rejection, and be unknown for a moment.
	Loses bool
	// Break breaks the part and mends it again; during tells that it is broken.
	Break func(tb testing.TB, f *Fleet, during func())
}

// Name gives target and fault.
func (c Cell) Name() string { return c.Target + ": " + c.Fault }

// faultFor is how long a part stays broken.
const faultFor = 5 * time.Second

func pass(d time.Duration) { wait(context.Background(), d) }

// process is a part that can be killed and stopped.
type process interface {
	Kill9()
	Start()
	Freeze()
	Thaw()
}

func kill(p func(*Fleet) process) func(testing.TB, *Fleet, func()) {
	return func(_ testing.TB, f *Fleet, during func()) {
		part := p(f)
		part.Kill9()
		during()
		pass(faultFor / 5)
		part.Start()
	}
}

func freeze(p func(*Fleet) process) func(testing.TB, *Fleet, func()) {
	return func(_ testing.TB, f *Fleet, during func()) {
		part := p(f)
		part.Freeze()
		during()
		pass(faultFor)
		part.Thaw()
	}
}

func cut(p func(*Fleet) []*servers.FaultProxy) func(testing.TB, *Fleet, func()) {
	return func(_ testing.TB, f *Fleet, during func()) {
		for _, x := range p(f) {
			x.Cut()
		}
		during()
		pass(faultFor)
		for _, x := range p(f) {
			x.Restore()
		}
	}
}

// unheard lets work through and no answer back, and then ends the connections that wait.
func unheard(p func(*Fleet) []*servers.FaultProxy) func(testing.TB, *Fleet, func()) {
	return func(_ testing.TB, f *Fleet, during func()) {
		for _, x := range p(f) {
			x.LoseReplies()
		}
		during()
		pass(faultFor / 5)
		for _, x := range p(f) {
			x.Cut()
			x.Restore()
		}
	}
}

// Cells gives the whole matrix.
func Cells() []Cell {
	redis := func(f *Fleet) process { return f.Redis }
	toRedis := func(f *Fleet) []*servers.FaultProxy { return f.ToRedis }
	maria := func(f *Fleet) process { return f.Maria }
	toMaria := func(f *Fleet) []*servers.FaultProxy { return f.ToMaria }
	rabbit := func(f *Fleet) process { return f.Rabbit }
	toRabbit := func(f *Fleet) []*servers.FaultProxy { return f.ToRabbit }
	plain, broker, cluster := Shape{}, Shape{Rabbit: true}, Shape{Cluster: true}
	all := []Cell{
		{Target: "Sluice node", Fault: "kill -9 and restart", Shape: plain, Break: killNode(0)},
		{Target: "Sluice node", Fault: "frozen for 5 s", Shape: plain, Break: freezeNode(0)},
		{Target: "Sluice node", Fault: "cut off from every store", Shape: plain, Break: cutNode(0)},
		{Target: "Sluice node", Fault: "answers lost", Shape: plain,
			Break: unheard(func(f *Fleet) []*servers.FaultProxy { return f.ToNode[:1] })},

		{Target: "Redis", Fault: "kill -9 and restart", Shape: plain, Loses: true, Break: kill(redis)},
		{Target: "Redis", Fault: "frozen for 5 s", Shape: plain, Break: freeze(redis)},
		{Target: "Redis", Fault: "cut off", Shape: plain, Break: cut(toRedis)},
		{Target: "Redis", Fault: "answers lost", Shape: plain, Break: unheard(toRedis)},
		{Target: "Redis", Fault: "FLUSHALL", Shape: plain, Loses: true, Break: flush},
		{Target: "Redis", Fault: "an old snapshot comes back", Shape: plain, Loses: true, Break: oldSnapshot},

		{Target: "Redis Cluster master", Fault: "kill -9, failover, restart", Shape: cluster, Loses: true, Break: killMaster},
		{Target: "Redis Cluster master", Fault: "frozen until after the failover", Shape: cluster, Loses: true,
			Break: freezeMaster},
		{Target: "Redis Cluster master", Fault: "cut off from its clients", Shape: cluster, Break: cutMaster},
		{Target: "Redis Cluster master", Fault: "answers lost", Shape: cluster, Break: unheardMaster},

		{Target: "RabbitMQ", Fault: "kill -9 and restart", Shape: broker, Break: kill(rabbit)},
		{Target: "RabbitMQ", Fault: "frozen for 5 s", Shape: broker, Break: freeze(rabbit)},
		{Target: "RabbitMQ", Fault: "cut off", Shape: broker, Break: cut(toRabbit)},
		{Target: "RabbitMQ", Fault: "answers lost", Shape: broker, Break: unheard(toRabbit)},

		{Target: "MariaDB", Fault: "kill -9 and restart", Shape: plain, Break: kill(maria)},
		{Target: "MariaDB", Fault: "frozen for 5 s", Shape: plain, Break: freeze(maria)},
		{Target: "MariaDB", Fault: "cut off", Shape: plain, Break: cut(toMaria)},
		{Target: "MariaDB", Fault: "answers lost", Shape: plain, Break: unheard(toMaria)},
		{Target: "MariaDB", Fault: "disk full", Shape: plain, Break: fillDisk},

		{Target: "queue", Fault: "duplicated and reordered (Redis)", Shape: plain, Break: shuffleQueue},
		{Target: "queue", Fault: "duplicated and reordered (RabbitMQ)", Shape: broker, Break: shuffleQueue},
	}
	settler := nodes - 1
	alone := Shape{Rabbit: true, Alone: true}
	return append(all,
		Cell{Target: "settler", Fault: "kill -9 and restart", Shape: alone, Break: killNode(settler)},
		Cell{Target: "settler", Fault: "frozen for 5 s", Shape: alone, Break: freezeNode(settler)},
		Cell{Target: "settler", Fault: "cut off from every store", Shape: alone, Break: cutNode(settler)},
		Cell{Target: "settler", Fault: "the ledger's answers lost", Shape: alone,
			Break: unheard(func(f *Fleet) []*servers.FaultProxy { return f.ToMaria[settler:] })},
	)
}

func killNode(i int) func(testing.TB, *Fleet, func()) {
	return func(tb testing.TB, f *Fleet, during func()) {
		f.Nodes[i].Kill(tb)
		during()
		pass(faultFor / 5)
		f.Nodes[i].Restart(tb)
	}
}

func freezeNode(i int) func(testing.TB, *Fleet, func()) {
	return func(tb testing.TB, f *Fleet, during func()) {
		f.Nodes[i].Signal(tb, stopSignal)
		during()
		pass(faultFor)
		f.Nodes[i].Signal(tb, goSignal)
	}
}

func cutNode(i int) func(testing.TB, *Fleet, func()) {
	return cut(func(f *Fleet) []*servers.FaultProxy {
		all := []*servers.FaultProxy{f.ToMaria[i]}
		if f.ToRedis != nil {
			all = append(all, f.ToRedis[i])
		}
		if f.ToRabbit != nil {
			all = append(all, f.ToRabbit[i])
		}
		return all
	})
}

func flush(_ testing.TB, f *Fleet, during func()) {
	f.Redis.FlushAll()
	during()
}

// oldSnapshot brings the gate back as it was when little of the sale had happened.
func oldSnapshot(_ testing.TB, f *Fleet, during func()) {
	old := f.Redis.Snapshot()
	pass(time.Second) // the sale goes on, past what the snapshot has
	f.Redis.Kill9()
	during()
	f.Redis.Restore(old)
	f.Redis.Start()
}

// master finds the cluster's master that has the campaign's gate.
func master(tb testing.TB, f *Fleet) *servers.RedisServer {
	tb.Helper()
	for _, m := range f.Cluster.Masters() {
		if strings.Contains(m.Do("--scan", "--pattern", "*gate*"), "gate") {
			return m
		}
	}
	tb.Error("no master has the gate")
	return f.Cluster.Nodes[0]
}

func killMaster(tb testing.TB, f *Fleet, during func()) {
	m := master(tb, f)
	m.Kill9()
	during()
	pass(2 * faultFor) // the failover takes about four seconds
	m.Start()
	f.Cluster.WaitInStep()
}

func freezeMaster(tb testing.TB, f *Fleet, during func()) {
	m := master(tb, f)
	m.Freeze()
	during()
	pass(2 * faultFor)
	m.Thaw()
	f.Cluster.WaitInStep()
}

// cutMaster cuts a master off from its clients and its replica; the other members still see it, so that nobody takes
// over.
func cutMaster(tb testing.TB, f *Fleet, during func()) {
	p := f.Cluster.ProxyOf(master(tb, f))
	p.Cut()
	during()
	pass(faultFor)
	p.Restore()
	f.Cluster.WaitInStep()
}

func unheardMaster(tb testing.TB, f *Fleet, during func()) {
	p := f.Cluster.ProxyOf(master(tb, f))
	p.LoseReplies()
	during()
	pass(faultFor / 5)
	p.Cut()
	p.Restore()
}

// shuffleQueue copies what it sees of the outbox and puts the copies back later, the last first: every claim comes
// again, out of order, some after their orders exist.
func shuffleQueue(tb testing.TB, f *Fleet, during func()) {
	during()
	streams := strings.Fields(f.Redis.Do("--scan", "--pattern", "*outbox*"))
	if len(streams) == 0 {
		tb.Error("there is no outbox to shuffle")
	}
	const script = `local n = 0
for _, key in ipairs(KEYS) do
  local all = redis.call('XREVRANGE', key, '+', '-', 'COUNT', 200)
  for _, e in ipairs(all) do redis.call('XADD', key, '*', unpack(e[2])) n = n + 1 end
end
return n`
	copied := 0
	var once sync.Once
	deadline := time.Now().Add(faultFor)
	for time.Now().Before(deadline) && copied < 3000 {
		args := append([]string{"EVAL", script, fmt.Sprint(len(streams))}, streams...)
		var n int
		if _, err := fmt.Sscan(f.Redis.Do(args...), &n); err != nil {
			once.Do(func() { tb.Errorf("the outbox is not shuffled: %v", err) })
		}
		copied += n
		pass(5 * time.Millisecond)
	}
	if copied == 0 {
		tb.Error("no entry of the outbox was ever seen, so none came twice")
	}
	tb.Logf("%d entries of the outbox came again", copied)
}
