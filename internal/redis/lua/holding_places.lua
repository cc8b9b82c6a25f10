-- KEYS: the places of one holder (sorted set: claim id, when its unpaid window ends)
-- ARGV: claim id, when its window ends, how many others the holder may have, time to live of all places in ms
-- Returns: {1}, or {0, id, end, id, end …} of the others where the holder has so many.
-- Atomic, since of claims that come at once at different nodes only so many may find a place.
if redis.call('ZSCORE', KEYS[1], ARGV[1]) then
  return {'1'}
end
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[3]) then
  local others = redis.call('ZRANGE', KEYS[1], 0, -1, 'WITHSCORES')
  table.insert(others, 1, '0')
  return others
end
redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[4]) then
  redis.call('PEXPIRE', KEYS[1], ARGV[4])
end
return {'1'}
