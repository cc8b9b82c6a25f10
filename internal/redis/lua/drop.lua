-- Takes a gate away once everything that it admitted is settled.
-- KEYS: 1 gate, 2 pending, 3 outbox
-- ARGV: none
-- Returns: 1 gone, now or before; 0 something is not settled, or stands in the outbox: nothing was done.
-- Atomic: nobody is admitted between the look and the deletion.
if #KEYS ~= 3 then return redis.error_reply('ARGS drop') end
if redis.call('HLEN', KEYS[2]) > 0 or redis.call('XLEN', KEYS[3]) > 0 then return 0 end
redis.call('UNLINK', KEYS[1], KEYS[3])
return 1
