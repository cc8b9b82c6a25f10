-- Writes a node's heartbeat and gives those of all nodes.
-- KEYS: 1 nodes, 2 revision of the pending switches
-- ARGV: 1 node id, 2 the node as JSON; both empty: only look, 3 milliseconds after which a silent node is forgotten
-- Returns: now in ms, the revision, then for each node its age in ms and its JSON.
-- Atomic: ages are by one clock, that of Redis.
if #KEYS ~= 2 or #ARGV ~= 3 or not tonumber(ARGV[3]) then return redis.error_reply('ARGS meet') end
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local text = string.format('%.0f', now)
if ARGV[1] ~= '' then redis.call('HSET', KEYS[1], ARGV[1], text .. ' ' .. ARGV[2]) end
local all = redis.call('HGETALL', KEYS[1])
local out = {text, redis.call('GET', KEYS[2]) or '0'}
for i = 1, #all, 2 do
  local at, json = string.match(all[i + 1], '^(%d+) (.*)$')
  if not at or now - tonumber(at) > tonumber(ARGV[3]) then
    redis.call('HDEL', KEYS[1], all[i])
  else
    out[#out + 1] = string.format('%.0f', math.max(0, now - tonumber(at)))
    out[#out + 1] = json
  end
end
return out
