-- Carries out releases and takes that the ledger has committed.
-- KEYS: 1 gate, 2 claims, 3 pending, 4 holders, 5 marks
-- ARGV: eight an operation: kind (r release, t take), epoch, user's half of the id, other half, number of the operation
--   (0: none), quantity of the claim, units, limit units (given back by r, taken by t)
-- Returns: one letter an operation: K keep it (no gate, or an older epoch), D done now or before, X drop it (a newer
--   epoch, whose rows have it).
-- Atomic: a claim and the sums that it is part of change together. A claim only moves none -> live -> ended: a release
--   takes away at most what the claim has, a take of a known claim does nothing, and a claim that is released before
--   it was known is known from then on, so that a take which comes late finds it. A release that leaves something
--   that it could take away again (one coupon of several) is marked by its number; without a number it is kept.
--   The claim of an operation has a row in the ledger, so it is not pending any more.
if #KEYS ~= 5 or #ARGV < 8 or #ARGV % 8 ~= 0 then return redis.error_reply('ARGS ops') end
local count = #ARGV / 8
local users, marks = {}, {}
for i = 1, count do
  local o = i * 8 - 7
  if not ((ARGV[o] == 'r' or ARGV[o] == 't') and whole(ARGV[o + 1], 0, MAX) and #ARGV[o + 2] == 10
      and #ARGV[o + 3] == 10 and whole(ARGV[o + 4], 0, MAX) and whole(ARGV[o + 5], 1, 65535)
      and whole(ARGV[o + 6], 0, ARGV[o + 5] + 0) and whole(ARGV[o + 7], 0, ARGV[o + 5] + 0)) then
    return redis.error_reply('ARGS op')
  end
  users[i], marks[i] = ARGV[o + 2], 'p' .. ARGV[o + 4]
end

local g = redis.call('HMGET', KEYS[1], 'epoch', 'available', 'returning', 'lease', 'live', 'queued', 'waiting')
local at = tonumber(g[1] or 0)
if at == 0 then return string.rep('K', count) end
local now = clock()
local available, returning, lease = tonumber(g[2]), tonumber(g[3]), tonumber(g[4])
local live, queued, waiting = tonumber(g[5]), tonumber(g[6]), tonumber(g[7])
if returning > 0 and now >= lease then available, returning = available + returning, 0 end
local have = redis.call('HMGET', KEYS[2], unpack(users))
long(KEYS[3], users, have)
local marked = redis.call('HMGET', KEYS[5], unpack(marks))

local letters, set, changed, n = {}, {}, {}, 0
local mark, fresh, done, calls = {}, {}, {}, {}
local function put(u, v)
  local slot = changed[u]
  if slot then
    set[slot] = v
  else
    n = n + 2
    set[n - 1], set[n], changed[u] = u, v, n
  end
end
for i = 1, count do
  local o = i * 8 - 7
  local e, u, half = tonumber(ARGV[o + 1]), users[i], ARGV[o + 3]
  local q, units, lim = tonumber(ARGV[o + 5]), tonumber(ARGV[o + 6]), tonumber(ARGV[o + 7])
  local v = changed[u] and set[changed[u]] or have[i]
  local found = v and place(v, half)
  local letter = 'D'
  if at < e then
    letter = 'K'
  elseif at > e then
    letter = 'X'
  elseif ARGV[o] == 't' then
    if not found then
      available, live = available - units, live + units
      if not v then fresh[#fresh + 1] = u end
      put(u, be4((v and head(v) or 0) + lim) .. (v and sub(v, 5) or '') .. half .. be2(q) .. be2(units) .. be2(lim) .. NONE)
    end
  elseif not (marked[i] or done[marks[i]]) then
    local l, w = q, q
    if found then l, w = two(v, found + 12), two(v, found + 14) end
    local back, free = math.min(units, l), math.min(lim, w)
    local again = (units > 0 and l > back) or (lim > 0 and w > free)
    if again and marks[i] == 'p0' then
      letter = 'K'
    elseif found then
      if back > 0 or free > 0 then
        put(u, be4(head(v) - free) .. sub(v, 5, found + 11) .. be2(l - back) .. be2(w - free) .. sub(v, found + 16))
      end
      live = live - back
      if now < lease then returning = returning + back else available = available + back end
    else
      available, live = available - (l - back), live + (l - back)
      if not v then fresh[#fresh + 1] = u end
      put(u, be4((v and head(v) or 0) + w - free) .. (v and sub(v, 5) or '') .. half .. be2(q) .. be2(l - back)
        .. be2(w - free) .. NONE)
    end
    if again and letter == 'D' then
      mark[#mark + 1] = marks[i]
      mark[#mark + 1] = 1
      done[marks[i]] = true
    end
  end
  if letter == 'D' and found then
    v = changed[u] and set[changed[u]] or have[i]
    local call = sub(v, found + 16, found + 23)
    if call ~= NONE then
      settle(calls, call)
      queued, waiting = queued - two(v, found + 10), waiting - 1
      put(u, sub(v, 1, found + 15) .. NONE .. sub(v, found + 24))
    end
  end
  letters[i] = letter
end

local left, gone = settleCalls(KEYS[3], calls)
redis.call('HSET', KEYS[1], 'available', available, 'returning', returning, 'live', live, 'queued', queued,
  'waiting', waiting)
if n > 0 then redis.call('HSET', KEYS[2], unpack(set)) end
if #left > 0 then redis.call('HSET', KEYS[3], unpack(left)) end
if #gone > 0 then redis.call('HDEL', KEYS[3], unpack(gone)) end
if #fresh > 0 then redis.call('APPEND', KEYS[4], table.concat(fresh)) end
if #mark > 0 then redis.call('HSET', KEYS[5], unpack(mark)) end
return table.concat(letters)
