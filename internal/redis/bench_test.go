package redis_test

import (
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/redis"
	"github.com/sluice-sale/sluice/internal/servers"
)

// oneByOne is what most flash sales do: one script a claim that looks at the stock and at the user, takes one and
// marks the user. It has no limit, no replay, no message.
const oneByOne = `
local stock = tonumber(redis.call('GET', KEYS[1]) or 0)
if stock < 1 then return 0 end
if redis.call('HEXISTS', KEYS[2], ARGV[1]) == 1 then return 2 end
redis.call('DECR', KEYS[1])
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
return 1
`

// BenchmarkAdmit measures claims that are all admitted, on one Redis that keeps an append-only file, against one
// script call a claim, 512 at once, pipelined. ns/op is of one claim.
func BenchmarkAdmit(b *testing.B) {
	server := servers.Redis(b)
	b.Run("one script a claim, 512 at once", func(b *testing.B) { benchOneByOne(b, server) })
	for _, n := range []int{64, 256, 512} {
		b.Run(fmt.Sprintf("%d a call", n), func(b *testing.B) { benchAdmit(b, server, n, 0) })
	}
}

// BenchmarkAdmitSize measures a call of 512 claims in campaigns that have some already. The append-only file, which
// filling the campaign has made long, is not rewritten meanwhile: a fork makes every page that is written dearer.
func BenchmarkAdmitSize(b *testing.B) {
	for _, size := range []int{10_000, 1_000_000, 5_000_000} {
		server := servers.Redis(b, servers.With("auto-aof-rewrite-percentage", "0"))
		b.Run(fmt.Sprintf("%d claims", size), func(b *testing.B) { benchAdmit(b, server, 512, size) })
	}
}

func benchOneByOne(b *testing.B, server *servers.RedisServer) {
	rdb, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{server.Addr}, ForceSingleClient: true, DisableCache: true,
	})
	if err != nil {
		b.Fatal(err)
	}
	defer rdb.Close()
	lua := rueidis.NewLuaScript(oneByOne)
	ctx := b.Context()
	if err := rdb.Do(ctx, rdb.B().Set().Key("{x}stock").Value("1000000000").Build()).Error(); err != nil {
		b.Fatal(err)
	}
	users := make([]string, b.N)
	for i := range users {
		users[i] = fmt.Sprintf("user-%d-%d", b.N, i)
	}
	var next atomic.Int64
	var wait sync.WaitGroup
	b.ResetTimer()
	cpu := startCPU(server)
	for range 512 {
		wait.Go(func() {
			for {
				i := next.Add(1) - 1
				if i >= int64(b.N) {
					return
				}
				got, err := lua.Exec(ctx, rdb, []string{"{x}stock", "{x}users"}, []string{users[i], "1"}).AsInt64()
				if err != nil || got != 1 {
					b.Error(got, err)
					return
				}
			}
		})
	}
	wait.Wait()
	b.StopTimer()
	cpu.report(b)
}

// benchAdmit sends calls of n claims, two on the way at any time, to a campaign that has size claims already.
func benchAdmit(b *testing.B, server *servers.RedisServer, n, size int) {
	h := on(b, server.URL(), aSale(fmt.Sprintf("bench-%d-%d-%d", n, size, b.N), 1))
	h.fill(size)
	claims := make([]sluice.Claim, b.N)
	for i := range claims {
		claims[i] = h.claim(user(size+i), "r", 1)
	}
	var next atomic.Int64
	var wait sync.WaitGroup
	b.ResetTimer()
	cpu := startCPU(server)
	for range 2 {
		wait.Go(func() {
			for {
				i := int(next.Add(int64(n))) - n
				if i >= b.N {
					return
				}
				r, err := h.tryAdmit(b.Context(), claims[i:min(i+n, b.N)]...)
				if err != nil || r.Claims[0].Verdict != redis.VerdictAdmitted {
					b.Error(r.Status, err)
					return
				}
			}
		})
	}
	wait.Wait()
	b.StopTimer()
	cpu.report(b)
	if s := h.state()[0]; s.Live != int64(size+b.N) || s.Available != s.Share-s.Live || s.Queued != int64(b.N) {
		b.Fatalf("it oversells, or loses: %+v", s)
	}
}

// cpuTime is what server and client have used of a processor: on a busy machine that says more than the clock.
type cpuTime struct {
	server         *servers.RedisServer
	redis, process time.Duration
}

func startCPU(server *servers.RedisServer) cpuTime {
	return cpuTime{server, redisCPU(server), processCPU()}
}

func (c cpuTime) report(b *testing.B) {
	n := float64(b.N)
	b.ReportMetric(n/b.Elapsed().Seconds(), "claims/s")
	b.ReportMetric(float64(redisCPU(c.server)-c.redis)/n, "redis-cpu-ns/op")
	b.ReportMetric(float64(processCPU()-c.process)/n, "client-cpu-ns/op")
}

func redisCPU(server *servers.RedisServer) (sum time.Duration) {
	for _, field := range []string{"used_cpu_user_main_thread", "used_cpu_sys_main_thread"} {
		s, err := strconv.ParseFloat(server.Info(field), 64)
		if err != nil {
			return 0
		}
		sum += time.Duration(s * float64(time.Second))
	}
	return sum
}

func processCPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// fill arms the campaign with rows of size users.
func (h *house) fill(size int) {
	h.t.Helper()
	ctx := h.t.Context()
	h.c.Epoch = 1
	h.all[h.c.ID] = h.c
	if _, err := h.Seal(ctx, h.c, 1); err != nil {
		h.t.Fatal(err)
	}
	rows := make([]sluice.ClaimRow, 0, 50_000)
	for i := 0; i < size; i += len(rows) {
		rows = rows[:0]
		for j := i; j < min(size, i+cap(rows)); j++ {
			id := sluice.NewClaimID(h.c.ID, user(j), sluice.SourceClaim, "r")
			rows = append(rows, sluice.ClaimRow{ID: id, Quantity: 1, LiveUnits: 1, LimitUnits: 1})
		}
		if err := h.Join(ctx, h.c, 0, rows); err != nil {
			h.t.Fatal(err)
		}
	}
	if err := h.Arm(ctx, h.c, 0, 1_000_000_000); err != nil {
		h.t.Fatal(err)
	}
}
