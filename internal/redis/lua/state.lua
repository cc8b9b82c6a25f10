-- Reads a shard as of one moment.
-- KEYS: 1 gate, 2 outbox
-- ARGV: none
-- Returns: {now, id of the oldest entry of the outbox or '', epoch, open, sealed_for, revision,
--   available, returning, queued, out, live, share, taken, to, seq,
--   waiting, last}; missing fields are ''.
-- Atomic, and writes nothing.
if #KEYS ~= 2 then return redis.error_reply('ARGS state') end
local g = redis.call('HMGET', KEYS[1], 'epoch', 'open', 'sealed_for', 'revision', 'available', 'returning', 'queued', 'out',
  'live', 'share', 'taken', 'to', 'seq', 'waiting', 'last')
local first = redis.call('XRANGE', KEYS[2], '-', '+', 'COUNT', 1)
local r = {clock(), first[1] and first[1][1] or ''}
for i = 1, 15 do r[2 + i] = g[i] or '' end
return r
