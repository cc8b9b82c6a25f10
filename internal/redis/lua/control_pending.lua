-- Gives the switches that the ledger does not have yet.
-- KEYS: 1 pending switches, 2 their revision
-- Returns: the revision, then the JSON of each.
-- Atomic: the switches are those of the revision.
if #KEYS ~= 2 then return redis.error_reply('ARGS pending') end
local out = {redis.call('GET', KEYS[2]) or '0'}
for _, json in ipairs(redis.call('HVALS', KEYS[1])) do out[#out + 1] = json end
return out
