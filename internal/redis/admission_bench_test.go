package redis_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/redis"
	"github.com/sluice-sale/sluice/internal/servers"
)

// paper is a ledger that has a row for whatever it is asked: admission alone is measured.
type paper struct{}

func (paper) Settle(_ context.Context, claims []sluice.Claim) ([]sluice.Outcome, error) {
	out := make([]sluice.Outcome, len(claims))
	for i := range out {
		out[i] = sluice.Outcome{Reason: sluice.ReasonConfirmed, State: sluice.ClaimConfirmed}
	}
	return out, nil
}

func (paper) ClaimRecords(
	_ context.Context, ids []sluice.ClaimID,
) (map[sluice.ClaimID]sluice.ClaimRecord, error) {
	all := make(map[sluice.ClaimID]sluice.ClaimRecord, len(ids))
	for _, id := range ids {
		all[id] = sluice.ClaimRecord{
			Claim: sluice.Claim{ID: id, Quantity: 1}, State: sluice.ClaimConfirmed, Code: sluice.ReasonConfirmed,
		}
	}
	return all, nil
}

func (paper) DonePermitOps(context.Context, []int64) error { return nil }

const atOnce, perRound = 512, 60_000

// crowd runs n claims, atOnce of them at a time, and says how many a second.
func crowd(n int, claim func(i int)) float64 {
	var next atomic.Int64
	var all sync.WaitGroup
	began := time.Now()
	for range atOnce {
		all.Go(func() {
			for i := next.Add(1); i <= int64(n); i = next.Add(1) {
				claim(int(i))
			}
		})
	}
	all.Wait()
	return float64(n) / time.Since(began).Seconds()
}

// BenchmarkAdmitCrowd measures claims through the whole adapter, limit, replay, message and outbox included, and the
// same crowd by one script call a claim, in turns on the same Redis.
func BenchmarkAdmitCrowd(b *testing.B) {
	for _, flights := range []int{1, 2, 4} {
		b.Run(fmt.Sprint("flights ", flights), func(b *testing.B) { admitCrowd(b, flights) })
	}
}

func admitCrowd(b *testing.B, flights int) {
	// The file is not rewritten meanwhile: a child that reads the whole memory would fall on one side or the other.
	server := servers.Redis(b, servers.With("auto-aof-rewrite-percentage", "0"))
	h := on(b, server.URL(), aSale("crowd", 1))
	h.arm(1, 1<<40)
	var calls, inCalls, took atomic.Int64
	a := redis.NewAdmission(redis.AdmissionConfig{Flights: flights, BatchDone: func(n int, d time.Duration) {
		calls.Add(1)
		inCalls.Add(int64(n))
		took.Add(int64(d))
	}}, redis.AdmissionDeps{
		Gates: h.Gates, Client: h.client, Ledger: paper{},
	})
	defer a.Close()
	if err := a.Put(b.Context(), h.c); err != nil {
		b.Fatal(err)
	}
	plain, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{server.Addr}, ForceSingleClient: true, DisableCache: true,
	})
	if err != nil {
		b.Fatal(err)
	}
	defer plain.Close()
	script := rueidis.NewLuaScript(oneByOne)
	var ours, theirs, rounds float64
	var ourCPU, theirCPU, ourRedis, theirRedis time.Duration
	for b.Loop() {
		server.Do("SET", "{plain}stock", "1000000000")
		claims, users := make([]sluice.Claim, perRound), make([]string, perRound)
		for i := range claims {
			users[i] = fmt.Sprint(rounds, "-", i)
			claims[i] = claimOf("crowd", users[i], "r", 1)
		}
		spent, redisSpent := cpu(server), redisCPU(server)
		theirs += crowd(perRound, func(i int) {
			n, err := script.Exec(b.Context(), plain, []string{"{plain}stock", "{plain}users"},
				[]string{users[i-1], "1"}).AsInt64()
			if n != 1 || err != nil {
				b.Error(n, err)
			}
		})
		theirCPU, theirRedis = theirCPU+cpu(server)-spent, theirRedis+redisCPU(server)-redisSpent
		spent, redisSpent = cpu(server), redisCPU(server)
		ours += crowd(perRound, func(i int) {
			if d := a.Admit(b.Context(), claims[i-1]); d.Reason != sluice.ReasonQueued {
				b.Error(d.Reason)
			}
		})
		ourCPU, ourRedis = ourCPU+cpu(server)-spent, ourRedis+redisCPU(server)-redisSpent
		rounds++
		ids := make([]sluice.ClaimID, len(claims))
		for i := range claims {
			ids[i] = claims[i].ID
		}
		a.Settled(ids) // as announcements tell in a sale, so that nobody asks the ledger for each
	}
	b.ReportMetric(ours/rounds, "claims/s")
	b.ReportMetric(theirs/rounds, "baseline/s")
	b.ReportMetric(ours/theirs, "ratio")
	b.ReportMetric(float64(theirCPU)/float64(ourCPU), "CPU-ratio")
	b.ReportMetric(float64(ourCPU.Microseconds())/rounds/perRound, "CPU-µs/claim")
	b.ReportMetric(float64(ourRedis.Microseconds())/rounds/perRound, "redis-µs/claim")
	b.ReportMetric(float64(theirRedis.Microseconds())/rounds/perRound, "base-redis-µs/claim")
	b.ReportMetric(float64(theirCPU.Microseconds())/rounds/perRound, "base-CPU-µs/claim")
	b.ReportMetric(float64(inCalls.Load())/float64(calls.Load()), "claims/call")
	b.ReportMetric(float64(took.Load())/float64(calls.Load())/1000, "µs/call")
}

// cpu is what this process and the server have used. On a machine that does other work it says more than a rate.
func cpu(server *servers.RedisServer) time.Duration { return processCPU() + redisCPU(server) }

func claimOf(campaign, user, request string, quantity int) sluice.Claim {
	return sluice.Claim{
		ID: sluice.NewClaimID(campaign, user, sluice.SourceClaim, request), Campaign: campaign, User: user,
		RequestID: request, Quantity: quantity, At: now(),
	}
}
