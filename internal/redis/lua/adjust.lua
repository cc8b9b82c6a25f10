-- Applies a change of the total to one shard, once per revision.
-- KEYS: 1 gate, 2 marks
-- ARGV: 1 epoch, 2 revision, 3 units (negative: taken, at most what is available)
-- Returns: {letter, units}. K keep it: no gate, an older epoch, or a revision before this one is missing. X drop it: a
--   newer epoch. D done now or before; units says what was added, or taken as a negative number.
-- Atomic: what was done is kept under its revision, so that the answer is the same when it is sent again.
if #KEYS ~= 2 or #ARGV ~= 3 or not (whole(ARGV[1], 0, MAX) and whole(ARGV[2], 1, MAX) and whole(ARGV[3], -MAX, MAX)) then
  return redis.error_reply('ARGS adjust')
end
local g = redis.call('HMGET', KEYS[1], 'epoch', 'revision', 'available', 'share', 'taken', 'returning', 'lease')
local at, e, r, d = tonumber(g[1] or 0), tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
if at == 0 or at < e then return {'K', 0} end
if at > e then return {'X', 0} end
local revision = tonumber(g[2])
if r <= revision then return {'D', tonumber(redis.call('HGET', KEYS[2], 't' .. r) or 0)} end
if r > revision + 1 then return {'K', 0} end
local now = clock()
local available, share, taken, returning = tonumber(g[3]), tonumber(g[4]), tonumber(g[5]), tonumber(g[6])
if returning > 0 and now >= tonumber(g[7]) then available, returning = available + returning, 0 end
local did = d
if d < 0 then
  did = -math.min(-d, math.max(available, 0))
  taken = taken - did
else
  share = share + d
end
-- Under a lease nothing becomes available: more units wait for its end, as those do that come back.
if did > 0 and now < tonumber(g[7]) then returning = returning + did else available = available + did end
redis.call('HSET', KEYS[1], 'revision', r, 'available', available, 'returning', returning, 'share', share,
  'taken', taken)
redis.call('HSET', KEYS[2], 't' .. r, did)
return {'D', did}
