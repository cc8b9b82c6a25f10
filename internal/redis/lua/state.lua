-- Reads a shard as of one moment.
-- KEYS: 1 gate, 2 pending, 3 outbox
-- ARGV: none
-- Returns: {now, claims that are not settled, id of the oldest entry of the outbox or '', epoch, open, sealed_for, revision,
--   available, returning, queued, out, live, share, taken, to, seq, last}; missing fields are ''.
-- Atomic, and writes nothing.
if #KEYS ~= 3 then return redis.error_reply('ARGS state') end
local g = redis.call('HMGET', KEYS[1], 'epoch', 'open', 'sealed_for', 'revision', 'available', 'returning', 'queued', 'out',
  'live', 'share', 'taken', 'to', 'seq', 'last')
local first = redis.call('XRANGE', KEYS[3], '-', '+', 'COUNT', 1)
local r = {clock(), redis.call('HLEN', KEYS[2]), first[1] and first[1][1] or ''}
for i = 1, 14 do r[3 + i] = g[i] or '' end
return r
