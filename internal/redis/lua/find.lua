-- Looks for what is not settled of one claim.
-- KEYS: 1 claims, 2 pending
-- ARGV: 1 claim id, 20 bytes
-- Returns: the messages of the call that admitted it, or nil where it is not pending.
-- Atomic, and writes nothing: the record says which call, and the call is there as long as the record says so.
if #KEYS ~= 2 or #ARGV ~= 1 or #ARGV[1] ~= 20 then return redis.error_reply('ARGS find') end
local users = {sub(ARGV[1], 1, 10)}
local have = redis.call('HMGET', KEYS[1], users[1])
long(KEYS[2], users, have)
local v = have[1]
local found = v and place(v, sub(ARGV[1], 11))
local call = found and sub(v, found + 16, found + 23) or NONE
return call ~= NONE and redis.call('HGET', KEYS[2], 'm' .. call)
