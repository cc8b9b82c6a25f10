-- Opens a sealed shard in a new epoch.
-- KEYS: 1 gate, 2 marks
-- ARGV: 1 epoch, 2 who loaded, 3 how many pieces, 4 share, 5 revision
-- Returns: 1 armed, now or before; 0 not sealed for this epoch, or a later one; 2 pieces are missing: load again.
-- Atomic: until this call nobody is admitted, after it everybody is by the new figures. Claims, pending and outbox stay
--   as they are; what belonged to the epoch before (transfers, marks, lease) goes. available may be negative: the ledger
--   has given away what the gate had promised; it is a debt, so that the sum over the shards stays the total.
if #KEYS ~= 2 or #ARGV ~= 5 or not (whole(ARGV[1], 1, MAX) and whole(ARGV[3], 0, MAX) and whole(ARGV[4], -MAX, MAX)
    and whole(ARGV[5], 0, MAX)) then
  return redis.error_reply('ARGS arm')
end
local e, pieces = tonumber(ARGV[1]), tonumber(ARGV[3])
local g = redis.call('HMGET', KEYS[1], 'epoch', 'sealed_for', 'loader', 'pieces', 'live', 'queued', 'waiting')
local at, sealed = tonumber(g[1] or 0), tonumber(g[2] or 0)
if at == e and sealed == e then return 1 end
if at >= e or sealed ~= e then return 0 end
if pieces > 0 and (g[3] ~= ARGV[2] or tonumber(g[4]) ~= pieces) then return 2 end
local live = tonumber(g[5] or 0)
redis.call('HSET', KEYS[1], 'epoch', e, 'open', 1, 'revision', ARGV[5], 'share', ARGV[4], 'live', live,
  'available', ARGV[4] - live, 'returning', 0, 'lease', 0, 'taken', 0, 'out', 0, 'seq', 0, 'to', 0,
  'queued', g[6] or 0, 'waiting', g[7] or 0)
redis.call('HDEL', KEYS[1], 'loader', 'pieces')
redis.call('UNLINK', KEYS[2])
return 1
