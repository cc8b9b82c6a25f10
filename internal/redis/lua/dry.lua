-- Grants a lease of a second on being dry.
-- KEYS: 1 gate
-- ARGV: 1 epoch, 2 look | grant: looking says whether a lease would be granted, and grants none
-- Returns: {status, epoch, granted, available, returning, to, seq, out}. status 0: no gate; 1: answered; 2: another
--   epoch; 3: sealed. The last three are a transfer that is under way, out = 0 where none is.
-- Atomic: while the lease runs nothing is admitted here, since what comes back goes to "returning" and a transfer
--   waits. Sent twice it grants the lease again, from now on.
if #KEYS ~= 1 or #ARGV ~= 2 or not whole(ARGV[1], 1, MAX) or (ARGV[2] ~= 'look' and ARGV[2] ~= 'grant') then
  return redis.error_reply('ARGS dry')
end
local g = redis.call('HMGET', KEYS[1], 'epoch', 'open', 'available', 'returning', 'lease', 'out', 'seq', 'to')
local at = tonumber(g[1] or 0)
if at == 0 then return {0, 0} end
if at ~= tonumber(ARGV[1]) then return {2, at} end
local now, available, returning = clock(), tonumber(g[3]), tonumber(g[4])
if returning > 0 and now >= tonumber(g[5]) then
  available, returning = available + returning, 0
  redis.call('HSET', KEYS[1], 'available', available, 'returning', 0)
end
local granted = 0
if g[2] == '1' and available <= 0 and returning == 0 and g[6] == '0' then
  granted = 1
  if ARGV[2] == 'grant' then redis.call('HSET', KEYS[1], 'lease', now + 1000) end
end
return {g[2] == '1' and 1 or 3, at, granted, available, returning, tonumber(g[8]), tonumber(g[7]), tonumber(g[6])}
