-- Takes items off a destination's queues, oldest first: alarms and messages that are too old, and messages beyond the
-- bounds. An alarm whose record is gone is dropped as lost.
-- KEYS[1] history
-- ARGV[1] to ARGV[3] prefixes, in the slot of the history: of destinations, of queues, of streams
-- ARGV[4] the destination   ARGV[5] the time before which an item is too old   ARGV[6] how many to take at most
-- ARGV[7] how many messages may stay, ARGV[8] how many bytes of their payloads and properties
-- ARGV[9], [10] the first and the last id of messages that may be taken, in XRANGE's notation
-- ARGV[11] prefix of proofs and ARGV[12] the hash of the destinations' numbers (shared/proofs.lua)   ARGV[13] the time
-- returns { how many were taken, how many of these were lost alarms, how many alarms stay, how many messages stay, and
--         their bytes }; {} if the destination is gone
--- include destinations
--- include proofs
local history, hashes, queues, streams, name = KEYS[1], unpack(ARGV, 1, 4)
local beforeMs, limit, maxCount, maxBytes = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
local hash, queue, stream = hashes .. name, queues .. name, streams .. name
local FIELDS = { 'alarms.expired', 'alarms.dropped', 'alarms.lost', 'messages.expired', 'messages.dropped',
  'messages.bytes' }
if not (hasAccount(hash, unpack(FIELDS)) and lengthOf('LLEN', queue) and lengthOf('XLEN', stream)) then return {} end

local function valueOf(row, name)
  for at = 1, #row[2], 2 do
    if row[2][at] == name then return row[2][at + 1] end
  end
end

-- Alarms
local taken, expired, lost = 0, {}, {}
while taken < limit do
  local item = redis.call('LINDEX', queue, 0)
  if not item then break end
  local number = tonumber(item) and string.format('%.0f-0', math.floor(item / 65536)) or '0-0'
  local row = redis.call('XRANGE', history, number, number)[1]
  local atMs = row and tonumber(valueOf(row, 't'))
  if atMs and atMs >= beforeMs then break end
  redis.call('LPOP', queue)
  taken = taken + 1
  if row then expired[#expired + 1] = item else lost[#lost + 1] = item end
end
if #expired > 0 then redis.call('HINCRBY', hash, 'alarms.expired', #expired) end
if #lost > 0 then
  redis.call('HINCRBY', hash, 'alarms.dropped', #lost)
  redis.call('HINCRBY', hash, 'alarms.lost', #lost)
end
-- A lost alarm needs no proof: nobody can ask for it.
noteOutcome(ARGV[11], ARGV[12], name, 'e', ARGV[13], expired)

-- Messages
local bytes, count = tonumber(redis.call('HGET', hash, 'messages.bytes') or 0), redis.call('XLEN', stream)
local outdated, dropped = 0, 0
while taken < limit do
  local row = redis.call('XRANGE', stream, ARGV[9], ARGV[10], 'COUNT', 1)[1]
  if not row then break end
  local isOutdated = (tonumber(valueOf(row, 'r')) or 0) < beforeMs
  if not isOutdated and count <= maxCount and bytes <= maxBytes then break end
  redis.call('XDEL', stream, row[1])
  taken, count, bytes = taken + 1, count - 1, bytes - #(valueOf(row, 'p') or '') - #(valueOf(row, 'm') or '')
  if isOutdated then outdated = outdated + 1 else dropped = dropped + 1 end
end
if outdated > 0 then redis.call('HINCRBY', hash, 'messages.expired', outdated) end
if dropped > 0 then redis.call('HINCRBY', hash, 'messages.dropped', dropped) end
-- The sum must not keep what somebody added or removed by hand.
if outdated + dropped > 0 then redis.call('HSET', hash, 'messages.bytes', count == 0 and 0 or string.format('%.0f', bytes)) end
return { taken, #lost, redis.call('LLEN', queue), count, bytes }
