-- Admits claims of one shard.
-- KEYS: 1 gate, 2 claims, 3 pending, 4 holders, 5 outbox, 6… claims of the other campaigns of the limit group
-- ARGV: 1 epoch, 2 start, 3 end of the window (ms), 4 units that a user may have, 5… messages, one a claim
-- Returns: {status, epoch, now, available, returning, queued, letters, list…}. status 0: no gate; 1: decided; 2: another
--   epoch. letters has one letter a claim (none at all where every claim was admitted): A admitted, Q replay that is
--   not settled, L replay that lives, E replay that ended, R the id with another quantity, C sealed, N before, X after
--   the window, M over the limit, D more than available. Each M has one list: the records of the user's last claims.
-- Atomic: permit, limit, record, pending and message change together or not at all. Everything is read and checked
--   before the first write, since an error in a script keeps what it wrote. Sent twice it gives replays.
-- Fast: the number of calls does not depend on the number of claims, and a claim costs three cuts and one join of
--   strings; the record is cut out of the message as it is.
if #KEYS < 5 or #ARGV < 5 then return redis.error_reply('ARGS admit') end
if not (whole(ARGV[1], 1, MAX) and whole(ARGV[2], 0, MAX) and whole(ARGV[3], 0, MAX) and whole(ARGV[4], 0, MAX)) then
  return redis.error_reply('ARGS admit')
end
local count = #ARGV - 4
local users, units = {}, {}
for i = 1, count do
  local m = ARGV[i + 4]
  local a, b, c, d, e, f = byte(m, 24, 29)
  if not f or #m < 49 or a ~= c or b ~= d or a ~= e or b ~= f or a + b == 0 then
    return redis.error_reply('ARGS message')
  end
  users[i], units[i] = sub(m, 4, 13), a * 256 + b
end

local epoch = tonumber(ARGV[1])
local g = redis.call('HMGET', KEYS[1], 'epoch', 'open', 'available', 'returning', 'lease', 'live', 'queued', 'calls', 'waiting')
local at = tonumber(g[1] or 0)
if at == 0 then return {0, 0} end
if at ~= epoch then return {2, at} end
local now, open = clock(), g[2] == '1'
local available, returning, live, queued = tonumber(g[3]), tonumber(g[4]), tonumber(g[6]), tonumber(g[7])
local moved = false
if returning > 0 and now >= tonumber(g[5]) then available, returning, moved = available + returning, 0, true end

local have = redis.call('HMGET', KEYS[2], unpack(users))
local others
if #KEYS > 5 then
  others = {}
  for k = 6, #KEYS do others[k - 5] = redis.call('HMGET', KEYS[k], unpack(users)) end
end

local starts, ends, limit = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local early, late = now < starts, now >= ends
local letters, lists = {}, {}
local set, changed, n = {}, {}, 0          -- new values of users; changed[user] is where the value stands in set
local won, k, took = {}, 0, 0
local fresh, f = {}, 0
local call = tonumber(g[8]) + 1
local mark = be4(call)
local heads = {}                           -- by units: the head of a user's first value
for i = 1, count do
  local m, u, q = ARGV[i + 4], users[i], units[i]
  local slot = changed[u]
  local v = slot and set[slot] or have[i]
  local found = v and place(v, sub(m, 14, 23))
  local letter
  if found then
    if two(v, found + 10) ~= q then
      letter = 'R'
    elseif two(v, found + 12) == 0 then
      letter = 'E'
    elseif sub(v, found + 16, found + 19) ~= NONE then
      letter = 'Q'
    else
      letter = 'L'
    end
  elseif not open then
    letter = 'C'
  elseif early and byte(m, 46) == 0 then
    letter = 'N'
  elseif late then
    letter = 'X'
  else
    local mine = v and head(v) or 0
    local used = mine
    if others then
      for p = 1, #others do
        local o = others[p][i]
        if o then used = used + head(o) end
      end
    end
    if used + q > limit then
      letter = 'M'
      local list = v and #v > 4 and sub(v, math.max(5, #v - 1999)) or ''
      if others then
        for p = 1, #others do
          local o = others[p][i]
          if o then list = list .. sub(o, math.max(5, #o - 1999)) end
        end
      end
      lists[#lists + 1] = list
    elseif q > available then
      letter = 'D'
    else
      letter = 'A'
      available, took, k = available - q, took + q, k + 1
      if v then
        v = be4(mine + q) .. sub(v, 5) .. sub(m, 14, 29) .. mark
      else
        local h = heads[q]
        if not h then
          h = be4(q)
          heads[q] = h
        end
        v = h .. sub(m, 14, 29) .. mark
        f = f + 1
        fresh[f] = u
      end
      if slot then
        set[slot] = v
      else
        n = n + 2
        set[n - 1], set[n], changed[u] = u, v, n
      end
      won[k] = m
    end
  end
  letters[i] = letter
end

if k > 0 then
  live, queued = live + took, queued + took
  local entry = table.concat(won)
  redis.call('HSET', KEYS[1], 'available', available, 'returning', returning, 'live', live, 'queued', queued, 'calls', call,
    'waiting', g[9] + k)
  redis.call('HSET', KEYS[2], unpack(set))
  redis.call('HSET', KEYS[3], 'm' .. call, entry, 'n' .. call, k)
  if f > 0 then redis.call('APPEND', KEYS[4], table.concat(fresh)) end
  redis.call('XADD', KEYS[5], '*', 'm', entry)
elseif moved then
  redis.call('HSET', KEYS[1], 'available', available, 'returning', returning)
end
return {1, at, now, available, returning, queued, k == count and '' or table.concat(letters), unpack(lists)}
