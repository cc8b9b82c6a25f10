-- Keeps a switch that was set while the ledger is away, or takes one out.
-- KEYS: 1 pending switches, 2 their revision, 3 the acts that others have replaced
-- ARGV: 1 field, 2 the switch as JSON, 3 keep | drop (the ledger has it) | shift (the ledger has a later one)
-- Returns: the revision. Taking out does nothing where the field has another value: it was set anew.
-- Atomic: whoever sees the revision sees the switch. An act that is replaced before the ledger has it goes to the acts,
-- the newest 10,000, for the audit log. The revision goes by the clock, so that it grows after a loss too.
if #KEYS ~= 3 or #ARGV ~= 3 or (ARGV[3] ~= 'keep' and ARGV[3] ~= 'drop' and ARGV[3] ~= 'shift') then
  return redis.error_reply('ARGS keep')
end
local rev = redis.call('GET', KEYS[2]) or '0'
local old = redis.call('HGET', KEYS[1], ARGV[1])
if ARGV[3] ~= 'keep' and old ~= ARGV[2] then return rev end
local t = redis.call('TIME')
rev = string.format('%.0f', math.max(tonumber(rev) + 1, t[1] * 1000000 + t[2]))
if old and ARGV[3] ~= 'drop' and (ARGV[3] == 'shift' or old ~= ARGV[2]) and not cjson.decode(old).Noted then
  redis.call('RPUSH', KEYS[3], old)
  redis.call('LTRIM', KEYS[3], -10000, -1)
end
if ARGV[3] == 'keep' then
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
else
  redis.call('HDEL', KEYS[1], ARGV[1])
end
redis.call('SET', KEYS[2], rev)
return rev
