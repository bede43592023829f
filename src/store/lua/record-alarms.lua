-- Records alarms, each of them once: the history with its indexes, and the log entry that obliges us
-- to forward it, in one atomic write (CONTRACT 4.1, 4.2).
-- KEYS[1] sequence counter   KEYS[2] history   KEYS[3] log
-- and for each alarm         alarm ids, receipts of the device, its index, the location's index,
--                            place, groups of the device's alarms, groups of the location's alarms
-- ARGV[1] seconds to keep receipts
-- and for each alarm         its field among the alarm ids
--                            receipt: packet identifier, '' when the id is stable
--                            digest of the payload, '1' when the packet is marked as sent again
--                            detection time, milliseconds; group, '' for none; text of the place
--                            values of the history: i, k, r, a, p, d, x (alarm-records.ts)
--                            values of the log entry: t, p, r, l, g
-- returns for each alarm     1 when it is new or 0 when it had been recorded before; its sequence
local keepSeconds = ARGV[1]
local KEYS_PER_ALARM, ARGUMENTS_PER_ALARM = 7, 19

local function recordedBefore(ids, receipts, id, receipt, digest, sentAgain)
  if receipt ~= '' and sentAgain then
    local known = redis.call('HGET', receipts, receipt)
    if known and string.sub(known, 1, #digest + 1) == digest .. ':' then
      return string.sub(known, #digest + 2)
    end
  end
  return redis.call('HGET', ids, id)
end

local results, at = {}, 2
for key = 4, #KEYS, KEYS_PER_ALARM do
  local ids, receipts, ofDevice, ofLocation = KEYS[key], KEYS[key + 1], KEYS[key + 2], KEYS[key + 3]
  local id, receipt, digest, sentAgain = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3]
  local before = recordedBefore(ids, receipts, id, receipt, digest, sentAgain == '1')
  local sequence = tonumber(before) or redis.call('INCR', KEYS[1])
  if not before then
    local detectedAt, group, text = ARGV[at + 4], ARGV[at + 5], ARGV[at + 6]
    local entry = string.format('%.0f-0', sequence)
    -- Fixed width, so that alarms with equal detection times stay in the order in which they came.
    local member = string.format('%012.0f', sequence)
    redis.call('XADD', KEYS[2], entry, 'i', ARGV[at + 7], 'k', ARGV[at + 8], 'r', ARGV[at + 9],
      'a', ARGV[at + 10], 'p', ARGV[at + 11], 'd', ARGV[at + 12], 'x', ARGV[at + 13])
    redis.call('XADD', KEYS[3], entry, 't', ARGV[at + 14], 'p', ARGV[at + 15], 'r', ARGV[at + 16],
      'l', ARGV[at + 17], 'g', ARGV[at + 18])
    redis.call('HSET', ids, id, sequence)
    redis.call('ZADD', ofDevice, detectedAt, member)
    redis.call('ZADD', ofLocation, detectedAt, member)
    -- The first alarm of a place writes it down, the last one to expire takes it away.
    if redis.call('HINCRBY', KEYS[key + 4], 'n', 1) == 1 then
      redis.call('HSET', KEYS[key + 4], 't', text)
      redis.call('HINCRBY', KEYS[key + 5], group, 1)
      redis.call('HINCRBY', KEYS[key + 6], group, 1)
    end
    if receipt ~= '' then
      redis.call('HSET', receipts, receipt, digest .. ':' .. string.format('%.0f', sequence))
      redis.call('EXPIRE', receipts, keepSeconds)
    end
  end
  results[#results + 1] = before and 0 or 1
  results[#results + 1] = sequence
  at = at + ARGUMENTS_PER_ALARM
end
return results
