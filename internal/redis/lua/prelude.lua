-- What several scripts need. It stands in front of each of them.
--
-- A user's value in the claims hash is a head of 4 bytes (the units that the user's claims take of the limit) and 16
-- bytes a claim: 10 of its id's second half, then quantity, live units and limit units, 2 bytes each, big-endian.
-- A message (see message.go) has the user's half of the id at 4-13, the other half at 14-23 and the same three
-- numbers at 24-29, in every version.
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
  while at and (at - 5) % 16 ~= 0 do at = find(v, half, at + 1, true) end
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

local MAX = 9007199254740992
