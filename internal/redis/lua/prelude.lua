-- What several scripts need. It stands in front of each of them.
--
-- A user's value in the claims hash is a head of 4 bytes (the units that the user's claims take of the limit) and 24
-- bytes a claim: 10 of its id's second half, then quantity, live units and limit units, 2 bytes each, big-endian, then
-- 8 bytes that name the call that admitted it, while it is pending; zeroes later.
-- The short form of a value is 10 bytes: the quantity of the only claim that the user has, live, whole and pending, and
-- the call that admitted it. Whoever meets one makes the long form of it (long), and writes long forms.
-- The pending hash has, for each call that is not settled whole, m<call> with its messages, which the outbox names,
-- n<call> with how many of them are pending and, where there are short forms, i<call>: the halves of the ids that are
-- their users', one after the other, then the other halves. So admitting is one look-up and one entry a claim, not two.
-- A message (see message.go) has its length at 2-3 and its source at 42.
local byte, sub, char, find, floor = string.byte, string.sub, string.char, string.find, math.floor

local function be2(n) return char(floor(n / 256), n % 256) end

local function be4(n)
  return char(floor(n / 16777216), floor(n / 65536) % 256, floor(n / 256) % 256, n % 256)
end

-- head gives what a user's claims take of the limit, of either form.
local function head(v)
  if #v == 10 then
    local a, b = byte(v, 1, 2)
    return a * 256 + b
  end
  local a, b, c, d = byte(v, 1, 4)
  return ((a * 256 + b) * 256 + c) * 256 + d
end

local function two(s, at)
  local a, b = byte(s, at, at + 1)
  return a * 256 + b
end

-- place gives where the record of a claim begins in a user's value, or nil.
local function place(v, half)
  local at = find(v, half, 5, true)
  while at and (at - 5) % 24 ~= 0 do at = find(v, half, at + 1, true) end
  return at
end

-- spot gives the number of a user among the n that begin a list of ids, looking from number from on; 0 where he is not.
local function spot(ids, u, n, from)
  local at = find(ids, u, from * 10 - 9, true)
  while at and (at - 1) % 10 ~= 0 do at = find(ids, u, at + 1, true) end
  at = at and (at + 9) / 10 or 0
  return at <= n and at or 0
end

-- long puts the long form in the place of short ones. values are those of users; key is that of their pending hash.
local function long(key, users, values)
  local fields, place, k = {}, {}, 0
  for i = 1, #values do
    local v = values[i]
    if v and #v == 10 then
      local call = sub(v, 3)
      if not place[call] then
        k = k + 1
        fields[k], place[call] = 'i' .. call, k
      end
    end
  end
  if k == 0 then return end
  local lists = redis.call('HMGET', key, unpack(fields))
  local last = {}                          -- claims come in the order of their calls, mostly
  for i = 1, #values do
    local v = values[i]
    if v and #v == 10 then
      local q, call = sub(v, 1, 2), sub(v, 3)
      local ids = lists[place[call]] or ''
      local n = #ids / 20
      local from = last[call] or 1
      local at = spot(ids, users[i], n, from)
      if at == 0 and from > 1 then at = spot(ids, users[i], n, 1) end
      if at == 0 then error('a claim without its call') end
      last[call] = at
      values[i] = char(0, 0) .. q .. sub(ids, (n + at) * 10 - 9, (n + at) * 10) .. q .. q .. q .. call
    end
  end
end

local function clock()
  local t = redis.call('TIME')
  return t[1] * 1000 + floor(t[2] / 1000)
end

-- whole says whether s is a whole number in [from, to].
local function whole(s, from, to)
  local n = tonumber(s)
  return n and n == floor(n) and n >= from and n <= to
end

-- settle notes in calls that a claim which was admitted by a call is not pending any more.
local function settle(calls, call)
  calls[call] = (calls[call] or 0) + 1
end

-- settleCalls gives what to set and what to delete in the pending hash, by what settle noted. It only reads.
local function settleCalls(key, calls)
  local names, k = {}, 0
  for call in pairs(calls) do
    k = k + 1
    names[k] = 'n' .. call
  end
  local set, gone = {}, {}
  if k == 0 then return set, gone end
  local left = redis.call('HMGET', key, unpack(names))
  for i = 1, k do
    local call = sub(names[i], 2)
    local n = tonumber(left[i] or 0) - calls[call]
    if n > 0 then
      set[#set + 1] = names[i]
      set[#set + 1] = n
    else
      gone[#gone + 1] = names[i]
      gone[#gone + 1] = 'm' .. call
      gone[#gone + 1] = 'i' .. call
    end
  end
  return set, gone
end

local NONE = string.rep(char(0), 8)
local MAX = 9007199254740992
