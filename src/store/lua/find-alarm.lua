-- Reads only.
-- Finds out which of these devices have raised an alarm with an id in a location.
-- KEYS[1] alarm log
-- ARGV[1] prefix of alarm ids, ARGV[2] of places (in the slot of the log)   ARGV[3] location
-- ARGV[4] MessagePack: for each device, piece and field of the id (alarm-records.ts)
-- returns the position, from 1, of each device that has, and the sequence of its alarm, in turn
local found = {}
for number, device in ipairs(cmsgpack.unpack(ARGV[4])) do
  local sequence = redis.call('HGET', ARGV[1] .. device[1], device[2])
  local row = sequence and redis.call('XRANGE', KEYS[1], sequence .. '-0', sequence .. '-0')[1]
  local fields = row and row[2] or {}
  for at = 1, #fields, 2 do
    if fields[at] == 'p' and redis.call('HGET', ARGV[2] .. fields[at + 1], 'l') == ARGV[3] then
      found[#found + 1] = number
      found[#found + 1] = tonumber(sequence)
    end
  end
end
return found
