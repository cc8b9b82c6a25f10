-- What several scripts need. It stands in front of each of them.
--
-- A user's value in the claims hash is a head of 4 bytes (the units that the user's claims take of the limit) and 24
-- bytes a claim: 10 of its id's second half, then quantity, live units and limit units, 2 bytes each, big-endian, then
-- 8 bytes that name the call that admitted it, while it is pending; zeroes later.
-- The pending hash has, for each call that is not settled whole, m<call> with its messages as they stand in the outbox
-- and n<call> with how many of them are pending. So admitting is one look-up and one entry a claim, not two.
-- A message (see message.go) has its length at 2-3 and its source at 42.
local byte, sub, char, find, floor = string.byte, string.sub, string.char, string.find, math.floor

local function be2(n) return char(floor(n / 256), n % 256) end

local function be4(n)
  return char(floor(n / 16777216), floor(n / 65536) % 256, floor(n / 256) % 256, n % 256)
end

local function head(v)
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
    end
  end
  return set, gone
end

local NONE = string.rep(char(0), 8)
local MAX = 9007199254740992
