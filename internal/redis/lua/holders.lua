-- Reads a piece of the list of holders.
-- KEYS: 1 gate, 2 holders
-- ARGV: 1 first byte, 2 how many bytes at most
-- Returns: {epoch, bytes of the whole list, piece}. epoch 0: no gate.
-- Atomic, and writes nothing: epoch and piece belong together.
if #KEYS ~= 2 or #ARGV ~= 2 or not (whole(ARGV[1], 0, MAX) and whole(ARGV[2], 1, MAX)) then
  return redis.error_reply('ARGS holders')
end
local from = tonumber(ARGV[1])
return {tonumber(redis.call('HGET', KEYS[1], 'epoch') or 0), redis.call('STRLEN', KEYS[2]),
  redis.call('GETRANGE', KEYS[2], from, from + ARGV[2] - 1)}
