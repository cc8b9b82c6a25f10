-- Takes units from a shard for another one.
-- KEYS: 1 gate
-- ARGV: 1 epoch, 2 receiver, 3 units wanted
-- Returns: {status, to, seq, units}. status 0: no gate; 1: a transfer is under way, this one or one from before, to be
--   completed first; 2: another epoch; 3: nothing to give, or sealed.
-- Atomic: the units leave "available" and stand under their number in one step; at most one transfer at a time. Half of
--   what is there goes, and more only where that is less than is wanted: both shards sell on.
if #KEYS ~= 1 or #ARGV ~= 3 or not (whole(ARGV[1], 1, MAX) and whole(ARGV[2], 0, 1023) and whole(ARGV[3], 1, MAX)) then
  return redis.error_reply('ARGS out')
end
local g = redis.call('HMGET', KEYS[1], 'epoch', 'open', 'available', 'returning', 'lease', 'out', 'seq', 'to')
local at = tonumber(g[1] or 0)
if at == 0 then return {0} end
if at ~= tonumber(ARGV[1]) then return {2} end
local out = tonumber(g[6])
if out > 0 then return {1, tonumber(g[8]), tonumber(g[7]), out} end
local available, returning, want = tonumber(g[3]), tonumber(g[4]), tonumber(ARGV[3])
if returning > 0 and clock() >= tonumber(g[5]) then available, returning = available + returning, 0 end
local n = math.min(available, math.max(want, floor(available / 2)))
if g[2] ~= '1' or n < 1 then return {3} end
local seq = tonumber(g[7]) + 1
redis.call('HSET', KEYS[1], 'available', available - n, 'returning', returning, 'out', n, 'seq', seq, 'to', ARGV[2])
return {1, tonumber(ARGV[2]), seq, n}
