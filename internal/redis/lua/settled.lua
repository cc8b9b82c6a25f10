-- Ends "pending" for claims that are in the ledger, whatever the epoch.
-- KEYS: 1 gate, 2 claims, 3 pending
-- ARGV: 1… claim ids, 20 bytes each
-- Returns: how many were pending.
-- Atomic: record, pending and the units of "queued" change together. Sent twice it finds nothing.
if #KEYS ~= 3 or #ARGV < 1 then return redis.error_reply('ARGS settled') end
local users = {}
for i = 1, #ARGV do
  if #ARGV[i] ~= 20 then return redis.error_reply('ARGS id') end
  users[i] = sub(ARGV[i], 1, 10)
end
local have = redis.call('HMGET', KEYS[2], unpack(users))
long(KEYS[3], users, have)
local g = redis.call('HMGET', KEYS[1], 'queued', 'waiting')
local queued = tonumber(g[1] or 0)
local set, changed, n, calls, count = {}, {}, 0, {}, 0
for i = 1, #ARGV do
  local u = users[i]
  local slot = changed[u]
  local v = slot and set[slot] or have[i]
  local found = v and place(v, sub(ARGV[i], 11))
  local call = found and sub(v, found + 16, found + 23) or NONE
  if call ~= NONE then
    count, queued = count + 1, queued - two(v, found + 10)
    settle(calls, call)
    v = sub(v, 1, found + 15) .. NONE .. sub(v, found + 24)
    if slot then
      set[slot] = v
    else
      n = n + 2
      set[n - 1], set[n], changed[u] = u, v, n
    end
  end
end
if count == 0 then return 0 end
local left, gone = settleCalls(KEYS[3], calls)
redis.call('HSET', KEYS[1], 'queued', queued, 'waiting', (g[2] or 0) - count)
redis.call('HSET', KEYS[2], unpack(set))
if #left > 0 then redis.call('HSET', KEYS[3], unpack(left)) end
if #gone > 0 then redis.call('HDEL', KEYS[3], unpack(gone)) end
return count
