-- Gives the units of a transfer to their receiver.
-- KEYS: 1 gate, 2 marks
-- ARGV: 1 epoch, 2 giver, 3 number of the transfer, 4 units
-- Returns: 0 refused (no gate, or another epoch), 1 applied, 2 applied before, 3 wait: a sold-out lease runs.
-- Atomic: the units come with the number of the giver's last transfer, which is kept for the whole epoch.
if #KEYS ~= 2 or #ARGV ~= 4 or not (whole(ARGV[1], 1, MAX) and whole(ARGV[2], 0, 1023) and whole(ARGV[3], 1, MAX)
    and whole(ARGV[4], 1, MAX)) then
  return redis.error_reply('ARGS in')
end
local g = redis.call('HMGET', KEYS[1], 'epoch', 'available', 'returning', 'lease', 'share')
if tonumber(g[1] or 0) ~= tonumber(ARGV[1]) then return 0 end
local mark = 'h' .. ARGV[2]
local seq, n = tonumber(ARGV[3]), tonumber(ARGV[4])
if seq <= tonumber(redis.call('HGET', KEYS[2], mark) or 0) then return 2 end
if clock() < tonumber(g[4]) then return 3 end
redis.call('HSET', KEYS[1], 'available', g[2] + g[3] + n, 'returning', 0, 'share', g[5] + n)
redis.call('HSET', KEYS[2], mark, seq)
return 1
