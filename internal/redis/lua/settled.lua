-- Ends "pending" for claims that are in the ledger, whatever the epoch.
-- KEYS: 1 gate, 2 pending
-- ARGV: 1… claim ids, 20 bytes each
-- Returns: how many were pending.
-- Atomic: the units of "queued" go with the record. Sent twice it finds nothing.
if #KEYS ~= 2 or #ARGV < 1 then return redis.error_reply('ARGS settled') end
for i = 1, #ARGV do
  if #ARGV[i] ~= 20 then return redis.error_reply('ARGS id') end
end
local there = redis.call('HMGET', KEYS[2], unpack(ARGV))
local queued = redis.call('HGET', KEYS[1], 'queued')
local seen, gone, n, units = {}, {}, 0, 0
for i = 1, #ARGV do
  local m = there[i]
  if m and not seen[ARGV[i]] then
    seen[ARGV[i]] = true
    n, units = n + 1, units + two(m, 24)
    gone[n] = ARGV[i]
  end
end
if n == 0 then return 0 end
redis.call('HDEL', KEYS[2], unpack(gone))
if queued then redis.call('HSET', KEYS[1], 'queued', tonumber(queued) - units) end
return n
