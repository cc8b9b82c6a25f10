-- Admits claims of one shard.
-- KEYS: 1 gate, 2 claims, 3 pending, 4 holders, 5 outbox, 6… claims and pending of each other campaign of the limit
--   group
-- ARGV: 1 epoch, 2 start, 3 end of the window (ms), 4 units that a user may have, 5 the name of this call, 8 bytes, 6 the
--   users who come more than once in it, 10 bytes each, 7 the quantity where all claims have the same, else 0, 8 all
--   messages, one after the other, 9 the halves of the claims' ids that are their users', one after the other, then the
--   other halves, 10 where quantities differ each claim's, 2 bytes, else nothing
-- Returns: {status, epoch, now, available, returning, queued, letters, list…}. status 0: no gate; 1: decided; 2: another
--   epoch. letters has one letter a claim, or none at all where every claim was admitted: A admitted, Q replay that is
--   not settled, L replay that lives, E replay that ended, R the id with another quantity, C sealed, N before, X after
--   the window, M over the limit, D more than available. Each M has one list: the records of the user's last claims.
-- Atomic: permit, limit, record, pending and message change together or not at all. Everything is read and checked
--   before the first write, since an error in a script keeps what it wrote. Sent twice it gives replays.
-- Fast: the number of calls does not depend on the number of claims. Redis hashes every string that Lua makes byte by
--   byte, and makes an object of every one that it is handed: a claim that is its user's first costs one string, and
--   what all of them have in common is one.
local count = #ARGV == 10 and #ARGV[9] / 20 or 0
if #KEYS < 5 or #KEYS % 2 == 0 or count < 1 or count ~= floor(count) or not (whole(ARGV[1], 1, MAX)
    and whole(ARGV[2], 0, MAX) and whole(ARGV[3], 0, MAX) and whole(ARGV[4], 0, MAX) and whole(ARGV[7], 0, 65535))
    or #ARGV[5] ~= 8 or ARGV[5] == NONE or #ARGV[6] % 10 ~= 0 or #ARGV[8] < count * 45
    or #ARGV[10] ~= (ARGV[7] == '0' and 2 * count or 0) then
  return redis.error_reply('ARGS admit')
end
local users = {struct.unpack(string.rep('c10', count), ARGV[9])}
users[count + 1] = nil                     -- where unpack has stopped

local epoch = tonumber(ARGV[1])
local g = redis.call('HMGET', KEYS[1], 'epoch', 'open', 'available', 'returning', 'lease', 'live', 'queued', 'waiting')
local at = tonumber(g[1] or 0)
if at == 0 then return {0, 0} end
if at ~= epoch then return {2, at} end
local now, open = clock(), g[2] == '1'
local available, returning, moved = tonumber(g[3]), tonumber(g[4]), false
if returning > 0 and now >= tonumber(g[5]) then available, returning, moved = available + returning, 0, true end

local have = redis.call('HMGET', KEYS[2], unpack(users))
local starts, ends, limit, same = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[7])
local early, late = now < starts, now >= ends

-- write records what was admitted: k claims of took units. fresh are the users who were not known, one after the other,
-- list those whose values are short and the other halves of their ids.
local function write(k, took, set, entry, fresh, list)
  local call = ARGV[5]
  redis.call('HSET', KEYS[1], 'available', available, 'returning', returning, 'live', g[6] + took, 'queued', g[7] + took,
    'waiting', g[8] + k, 'last', now)
  redis.call('HSET', KEYS[2], unpack(set))
  if list == '' then
    redis.call('HSET', KEYS[3], 'm' .. call, entry, 'n' .. call, k)
  else
    redis.call('HSET', KEYS[3], 'm' .. call, entry, 'n' .. call, k, 'i' .. call, list)
  end
  if fresh ~= '' then redis.call('APPEND', KEYS[4], fresh) end
  redis.call('XADD', KEYS[5], '*', 'c', call)
end

if same > 0 and open and not early and not late and #KEYS == 5 and ARGV[6] == '' and same <= limit
    and same * count <= available then
  -- The table has its room from the start; one that grows is laid out anew again and again.
  local new, short, set = true, be2(same) .. ARGV[5], {byte(ARGV[9], 1, 2 * count)}
  for i = 1, count do
    if have[i] then
      new = false
      break
    end
    set[2 * i - 1], set[2 * i] = users[i], short
  end
  if new then
    available = available - same * count
    write(count, same * count, set, ARGV[8], sub(ARGV[9], 1, 10 * count), ARGV[9])
    return {1, at, now, available, returning, g[7] + same * count, ''}
  end
end

long(KEYS[3], users, have)
local others
if #KEYS > 5 then
  others = {}
  for k = 6, #KEYS, 2 do
    local theirs = redis.call('HMGET', KEYS[k], unpack(users))
    long(KEYS[k + 1], users, theirs)
    others[#others + 1] = theirs
  end
end
local again = {}                           -- user -> where the user's value stands in set, for those who come again
for i = 1, #ARGV[6], 10 do again[sub(ARGV[6], i, i + 9)] = 0 end
local messages, from = {}, 1
for i = 1, count do
  local n = two(ARGV[8], from + 1)
  messages[i] = sub(ARGV[8], from, from + n - 1)
  if n < 45 or #messages[i] ~= n then return redis.error_reply('ARGS message') end
  from = from + n
end

local letters, lists = {}, {}
local set, n, k, took = {}, 0, 0, 0
local won, fresh, first, rest = {}, {}, {}, {}
for i = 1, count do
  local u, letter = users[i], nil
  local half = sub(ARGV[9], (count + i) * 10 - 9, (count + i) * 10)
  local q = same > 0 and same or two(ARGV[10], 2 * i - 1)
  local slot = again[u]
  local v = slot and slot > 0 and set[slot] or have[i]
  local found = v and place(v, half)
  if q == 0 then return redis.error_reply('ARGS quantity') end
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
  elseif early and byte(messages[i], 42) == 0 then
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
      letter = 'A'
      available, took, k = available - q, took + q, k + 1
      won[k] = messages[i]
      local units, value = be2(q), nil
      if not v then fresh[#fresh + 1] = u end
      if v or slot then
        value = be4(mine + q) .. (v and sub(v, 5) or '') .. half .. units .. units .. units .. ARGV[5]
      else
        value = units .. ARGV[5]
        first[#first + 1], rest[#rest + 1] = u, half
      end
      if slot and slot > 0 then
        set[slot] = value
      else
        n = n + 2
        set[n - 1], set[n] = u, value
        if slot then again[u] = n end
      end
    end
  end
  letters[i] = letter
end

if k > 0 then
  write(k, took, set, table.concat(won), table.concat(fresh), table.concat(first) .. table.concat(rest))
elseif moved then
  redis.call('HSET', KEYS[1], 'available', available, 'returning', returning)
end
return {1, at, now, available, returning, g[7] + took, k == count and '' or table.concat(letters), unpack(lists)}
