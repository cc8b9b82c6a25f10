-- Admits claims of one shard.
-- KEYS: 1 gate, 2 claims, 3 pending, 4 holders, 5 outbox, 6… claims of the other campaigns of the limit group
-- ARGV: 1 epoch, 2 start, 3 end of the window (ms), 4 units that a user may have, 5 the name of this call, 8 bytes, 6 the
--   users who come more than once in it, 10 bytes each, 7… messages, one a claim
-- Returns: {status, epoch, now, available, returning, queued, letters, list…}. status 0: no gate; 1: decided; 2: another
--   epoch. letters has one letter a claim, or none at all where every claim was admitted: A admitted, Q replay that is
--   not settled, L replay that lives, E replay that ended, R the id with another quantity, C sealed, N before, X after
--   the window, M over the limit, D more than available. Each M has one list: the records of the user's last claims.
-- Atomic: permit, limit, record, pending and message change together or not at all. Everything is read and checked
--   before the first write, since an error in a script keeps what it wrote. Sent twice it gives replays.
-- Fast: the number of calls does not depend on the number of claims, and a new user costs two cuts out of the message
--   and nothing that is built.
local count = #ARGV - 6
if #KEYS < 5 or count < 1 or not (whole(ARGV[1], 1, MAX) and whole(ARGV[2], 0, MAX) and whole(ARGV[3], 0, MAX)
    and whole(ARGV[4], 0, MAX)) or #ARGV[5] ~= 8 or ARGV[5] == NONE or #ARGV[6] % 10 ~= 0 then
  return redis.error_reply('ARGS admit')
end
local messages = {unpack(ARGV, 7)}
local users, units = {unpack(ARGV, 7)}, {unpack(ARGV, 7)} -- born at their size; every entry is replaced
for i = 1, count do
  local m = messages[i]
  local a, b = byte(m, 28, 29)
  if #m < 61 or a + b == 0 then return redis.error_reply('ARGS message') end
  users[i], units[i] = sub(m, 4, 13), a * 256 + b
end

local epoch = tonumber(ARGV[1])
local g = redis.call('HMGET', KEYS[1], 'epoch', 'open', 'available', 'returning', 'lease', 'live', 'queued', 'waiting')
local at = tonumber(g[1] or 0)
if at == 0 then return {0, 0} end
if at ~= epoch then return {2, at} end
local now, open = clock(), g[2] == '1'
local available, returning, moved = tonumber(g[3]), tonumber(g[4]), false
if returning > 0 and now >= tonumber(g[5]) then available, returning, moved = available + returning, 0, true end

local have = redis.call('HMGET', KEYS[2], unpack(users))
local others
if #KEYS > 5 then
  others = {}
  for k = 6, #KEYS do others[k - 5] = redis.call('HMGET', KEYS[k], unpack(users)) end
end
local again                                -- user -> where the user's value stands in set, for those who come again
if ARGV[6] ~= '' then
  again = {}
  for i = 1, #ARGV[6], 10 do again[sub(ARGV[6], i, i + 9)] = 0 end
end

local starts, ends, limit = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local early, late = now < starts, now >= ends
local letters, lists = nil, {}             -- letters only from the first claim on that is not admitted
local set, n, k, took, known = {}, 0, 0, 0, 0
for i = 1, count do
  local u, q, letter = users[i], units[i], nil
  local slot = again and again[u]
  local v = slot and slot > 0 and set[slot] or have[i]
  local found = v and place(v, sub(messages[i], 18, 27))
  if found then
    if two(v, found + 10) ~= q then
      letter = 'R'
    elseif two(v, found + 12) == 0 then
      letter = 'E'
    elseif sub(v, found + 16, found + 23) ~= NONE then
      letter = 'Q'
    else
      letter = 'L'
    end
  elseif not open then
    letter = 'C'
  elseif early and byte(messages[i], 58) == 0 then
    letter = 'N'
  elseif late then
    letter = 'X'
  else
    local mine = v and head(v) or 0
    local used = mine + q
    if others then
      for p = 1, #others do
        local o = others[p][i]
        if o then used = used + head(o) end
      end
    end
    if used > limit then
      letter = 'M'
      local list = ''
      if others then
        for p = #others, 1, -1 do
          local o = others[p][i]
          if o then list = list .. sub(o, math.max(5, #o - 2399)) end
        end
      end
      lists[#lists + 1] = list .. (v and sub(v, math.max(5, #v - 2399)) or '')
    elseif q > available then
      letter = 'D'
    else
      available, took, k = available - q, took + q, k + 1
      if v then
        known = known + 1
        v = be4(mine + q) .. sub(v, 5) .. sub(messages[i], 18, 41)
      else
        v = sub(messages[i], 14, 41)
      end
      if slot and slot > 0 then
        set[slot] = v
      else
        n = n + 2
        set[n - 1], set[n] = u, v
        if slot then again[u] = n end
      end
    end
  end
  if letter and not letters then
    letters = {}
    for j = 1, i - 1 do letters[j] = 'A' end
  end
  if letters then letters[i] = letter or 'A' end
end

if k > 0 then
  local fresh = users
  if letters or known > 0 then
    local won, f, seen = {}, 0, {}
    fresh = {}
    for i = 1, count do
      if not letters or letters[i] == 'A' then
        won[#won + 1] = messages[i]
        if not have[i] and not seen[users[i]] then
          f = f + 1
          fresh[f], seen[users[i]] = users[i], true
        end
      end
    end
    messages = won
  end
  local entry = table.concat(messages)
  redis.call('HSET', KEYS[1], 'available', available, 'returning', returning, 'live', g[6] + took, 'queued', g[7] + took,
    'waiting', g[8] + k, 'last', now)
  redis.call('HSET', KEYS[2], unpack(set))
  redis.call('HSET', KEYS[3], 'm' .. ARGV[5], entry, 'n' .. ARGV[5], k)
  if #fresh > 0 then redis.call('APPEND', KEYS[4], table.concat(fresh)) end
  redis.call('XADD', KEYS[5], '*', 'm', entry)
elseif moved then
  redis.call('HSET', KEYS[1], 'available', available, 'returning', returning)
end
return {1, at, now, available, returning, g[7] + took, letters and table.concat(letters) or '', unpack(lists)}
