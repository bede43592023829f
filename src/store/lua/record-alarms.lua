-- Records alarms, each of them once: the history with its indexes, and the log entry that obliges us
-- to forward it, in one atomic write (CONTRACT 4.1, 4.2).
-- KEYS[1] sequence counter   KEYS[2] history   KEYS[3] log
-- and for each alarm         alarm ids, receipts of the device, its index, the location's index
-- ARGV[1] seconds to keep receipts
-- and for each alarm         id
--                            receipt: packet identifier, '' when the id is stable
--                            digest of the payload, '1' when the packet is marked as sent again
--                            detection time, milliseconds
--                            number of the history's field and value arguments, which follow
--                            number of the log entry's field and value arguments, which follow
-- returns for each alarm     1 when it is new or 0 when it had been recorded before; its sequence
local keepSeconds = ARGV[1]

local function recordedBefore(ids, receipts, id, receipt, digest, sentAgain)
  if receipt ~= '' and sentAgain then
    local known = redis.call('HGET', receipts, receipt)
    if known and string.sub(known, 1, #digest + 1) == digest .. ':' then
      return string.sub(known, #digest + 2)
    end
  end
  return redis.call('HGET', ids, id)
end

local results, argument = {}, 2
for key = 4, #KEYS, 4 do
  local ids, receipts, ofDevice, ofLocation = KEYS[key], KEYS[key + 1], KEYS[key + 2], KEYS[key + 3]
  local id, receipt, digest, sentAgain, detectedAt = unpack(ARGV, argument, argument + 4)
  local history = argument + 6
  local log = history + tonumber(ARGV[argument + 5]) + 1
  local following = log + tonumber(ARGV[log - 1])

  local before = recordedBefore(ids, receipts, id, receipt, digest, sentAgain == '1')
  local sequence = tonumber(before) or redis.call('INCR', KEYS[1])
  if not before then
    local entry = string.format('%.0f-0', sequence)
    -- Fixed width, so that alarms with equal detection times stay in the order in which they came.
    local member = string.format('%012.0f', sequence)
    redis.call('XADD', KEYS[2], entry, unpack(ARGV, history, log - 2))
    redis.call('XADD', KEYS[3], entry, unpack(ARGV, log, following - 1))
    redis.call('HSET', ids, id, sequence)
    redis.call('ZADD', ofDevice, detectedAt, member)
    redis.call('ZADD', ofLocation, detectedAt, member)
    if receipt ~= '' then
      redis.call('HSET', receipts, receipt, digest .. ':' .. string.format('%.0f', sequence))
      redis.call('EXPIRE', receipts, keepSeconds)
    end
  end
  results[#results + 1] = before and 0 or 1
  results[#results + 1] = sequence
  argument = following
end
return results
