-- Keeps a switch that was set while the ledger is away, or takes one out that the ledger has now.
-- KEYS: 1 pending switches, 2 their revision
-- ARGV: 1 field, 2 the switch as JSON, 3 keep | drop
-- Returns: the revision. Dropping does nothing where the field has another value: it was set anew.
-- Atomic: whoever sees the revision sees the switch. The revision goes by the clock, so that it grows after a loss too.
if #KEYS ~= 2 or #ARGV ~= 3 or (ARGV[3] ~= 'keep' and ARGV[3] ~= 'drop') then
  return redis.error_reply('ARGS keep')
end
local rev = redis.call('GET', KEYS[2]) or '0'
if ARGV[3] == 'drop' and redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then return rev end
local t = redis.call('TIME')
rev = string.format('%.0f', math.max(tonumber(rev) + 1, t[1] * 1000000 + t[2]))
if ARGV[3] == 'keep' then
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
else
  redis.call('HDEL', KEYS[1], ARGV[1])
end
redis.call('SET', KEYS[2], rev)
return rev
