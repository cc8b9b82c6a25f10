-- Says whether the server is the one that it was when the gate was armed.
-- KEYS: 1 marks
-- ARGV: none
-- Returns: 1 it is, or nobody had asked since the gate was armed: it counts from now on; 0 it is not.
-- Atomic. Arming deletes the mark. A server that was started anew has another run id, and so has a replica that took
--   over: either may have forgotten the last of what it did, with a gate that looks whole.
if #KEYS ~= 1 then return redis.error_reply('ARGS run') end
local id = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')
if not id then return redis.error_reply('ERR no run id') end
local known = redis.call('HGET', KEYS[1], 'run')
if not known then
  redis.call('HSET', KEYS[1], 'run', id)
  return 1
end
return known == id and 1 or 0
