-- Ends a transfer at its giver, once its receiver has said that it has the units.
-- KEYS: 1 gate
-- ARGV: 1 epoch, 2 number of the transfer
-- Returns: 1 ended, 0 nothing to end.
-- Atomic: the share that went with the units goes with the mark. Sent twice it finds nothing.
if #KEYS ~= 1 or #ARGV ~= 2 or not (whole(ARGV[1], 1, MAX) and whole(ARGV[2], 1, MAX)) then
  return redis.error_reply('ARGS forget')
end
local g = redis.call('HMGET', KEYS[1], 'epoch', 'seq', 'out', 'share')
if tonumber(g[1] or 0) ~= tonumber(ARGV[1]) or tonumber(g[2]) ~= tonumber(ARGV[2]) or g[3] == '0' then return 0 end
redis.call('HSET', KEYS[1], 'out', 0, 'share', g[4] - g[3])
return 1
