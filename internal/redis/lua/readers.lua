-- Forgets readers of an outbox that hold nothing and were not seen for long.
-- KEYS: 1 outbox
-- ARGV: 1 group, 2 the reader that asks, 3 how long they were not seen (ms)
-- Returns: how many were forgotten.
-- Atomic: a reader that is given an entry between the question and the deletion would lose it for everyone.
local list = redis.pcall('XINFO', 'CONSUMERS', KEYS[1], ARGV[1])
if list.err then return 0 end
local n = 0
for i = 1, #list do
  local c = {}
  for k = 1, #list[i], 2 do c[list[i][k]] = list[i][k + 1] end
  if c.name ~= ARGV[2] and c.pending == 0 and c.idle >= tonumber(ARGV[3]) then
    redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], c.name)
    n = n + 1
  end
end
return n
