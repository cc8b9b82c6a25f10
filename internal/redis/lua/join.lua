-- Puts rows of the ledger among the claims of a sealed shard.
-- KEYS: 1 gate, 2 claims, 3 pending, 4 holders
-- ARGV: 1 the epoch to follow, 2 who loads (any text), 3 number of the piece, from 0, 4… rows: user's half of the id, other
--   half, quantity, live units, limit units, 26 bytes each
-- Returns: 1 joined, now or before; 0 not sealed for this epoch; 2 another one loads, or a piece is missing here.
-- Atomic: a piece is joined whole and counted, so that arming can tell that all of them are there: a Redis that came
--   back from an older state in between has counted fewer. A claim is then in the later of the states that gate and row
--   have; what only the gate has stays. Where the two have other quantities the id was used twice while the gate had
--   forgotten it, and the row is right. available = share - live - out - taken holds throughout, and nobody is admitted.
if #KEYS ~= 4 or #ARGV < 4 or not (whole(ARGV[1], 1, MAX) and whole(ARGV[3], 0, MAX)) then
  return redis.error_reply('ARGS join')
end
local count = #ARGV - 3
local users = {}
for i = 1, count do
  local row = ARGV[i + 3]
  if #row ~= 26 then return redis.error_reply('ARGS row') end
  users[i] = sub(row, 1, 10)
end
local e, piece = tonumber(ARGV[1]), tonumber(ARGV[3])
local g = redis.call('HMGET', KEYS[1], 'epoch', 'sealed_for', 'loader', 'pieces', 'live', 'available', 'queued',
  'waiting')
if tonumber(g[1] or 0) >= e or tonumber(g[2] or 0) ~= e then return 0 end
local pieces = g[3] == ARGV[2] and tonumber(g[4]) or 0
if piece > pieces then return 2 end
if piece < pieces then return 1 end
local live, available = tonumber(g[5] or 0), tonumber(g[6] or 0)
local queued, waiting = tonumber(g[7] or 0), tonumber(g[8] or 0)
local have = redis.call('HMGET', KEYS[2], unpack(users))
long(KEYS[3], users, have)

local set, changed, n, fresh, calls = {}, {}, 0, {}, {}
for i = 1, count do
  local row, u = ARGV[i + 3], users[i]
  local slot = changed[u]
  local v = slot and set[slot] or have[i]
  local l, w = two(row, 23), two(row, 25)
  local found = v and place(v, sub(row, 11, 20))
  local new
  if found then
    local hl, hw = two(v, found + 12), two(v, found + 14)
    local nl, nw = l, w
    local q = sub(row, 21, 22)
    local same = sub(v, found + 10, found + 11) == q
    if same then nl, nw = math.min(l, hl), math.min(w, hw) end
    local call = sub(v, found + 16, found + 23)
    if call ~= NONE then
      settle(calls, call)
      queued, waiting = queued - two(v, found + 10), waiting - 1
    end
    if nl ~= hl or nw ~= hw or call ~= NONE or not same then
      new = be4(head(v) - hw + nw) .. sub(v, 5, found + 9) .. q .. be2(nl) .. be2(nw) .. NONE .. sub(v, found + 24)
    end
    live, available = live - hl + nl, available + hl - nl
  else
    new = be4((v and head(v) or 0) + w) .. (v and sub(v, 5) or '') .. sub(row, 11) .. NONE
    live, available = live + l, available - l
    if not v then fresh[#fresh + 1] = u end
  end
  if new and slot then
    set[slot] = new
  elseif new then
    n = n + 2
    set[n - 1], set[n], changed[u] = u, new, n
  end
end
local left, gone = settleCalls(KEYS[3], calls)
redis.call('HSET', KEYS[1], 'loader', ARGV[2], 'pieces', pieces + 1, 'live', live, 'available', available, 'queued',
  queued, 'waiting', waiting)
if n > 0 then redis.call('HSET', KEYS[2], unpack(set)) end
if #left > 0 then redis.call('HSET', KEYS[3], unpack(left)) end
if #gone > 0 then redis.call('HDEL', KEYS[3], unpack(gone)) end
if #fresh > 0 then redis.call('APPEND', KEYS[4], table.concat(fresh)) end
return 1
