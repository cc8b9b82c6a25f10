-- Stops admissions, for the epoch that is to follow.
-- KEYS: 1 gate
-- ARGV: 1 the epoch to follow
-- Returns: 1 sealed, 0 the gate is of that epoch or a later one already: nothing was done.
-- Atomic. A gate that is not there is sealed too, so that nobody arms it for an earlier epoch. Never moves back.
if #KEYS ~= 1 or #ARGV ~= 1 or not whole(ARGV[1], 1, MAX) then return redis.error_reply('ARGS seal') end
local e = tonumber(ARGV[1])
local g = redis.call('HMGET', KEYS[1], 'epoch', 'sealed_for')
if tonumber(g[1] or 0) >= e then return 0 end
redis.call('HSET', KEYS[1], 'open', 0, 'sealed_for', math.max(e, tonumber(g[2] or 0)))
return 1
