-- Records an alarm, once: the history with its indexes, and the log entry that obliges us to forward
-- it, in one atomic write (CONTRACT 4.1, 4.2).
-- KEYS[1] sequence counter   KEYS[2] alarm ids   KEYS[3] receipts of the device
-- KEYS[4] history            KEYS[5] log         KEYS[6] index of the device, KEYS[7] of the location
-- ARGV[1] alarm id
-- ARGV[2] receipt: packet identifier, '' when the id is stable
-- ARGV[3] digest of the payload     ARGV[4] '1' when the packet is marked as sent again
-- ARGV[5] seconds to keep receipts  ARGV[6] detection time, milliseconds
-- ARGV[7] number of the history's field and value arguments, which follow; the rest are the log's
-- returns {1, sequence} when it is new, {0, sequence} when it had been recorded before
local id, receipt, digest, sentAgain = ARGV[1], ARGV[2], ARGV[3], ARGV[4] == '1'
local historyCount = tonumber(ARGV[7])

if receipt ~= '' and sentAgain then
  local known = redis.call('HGET', KEYS[3], receipt)
  if known and string.sub(known, 1, #digest + 1) == digest .. ':' then
    return { 0, tonumber(string.sub(known, #digest + 2)) }
  end
end
local recorded = redis.call('HGET', KEYS[2], id)
if recorded then return { 0, tonumber(recorded) } end

local sequence = redis.call('INCR', KEYS[1])
local entry = string.format('%.0f-0', sequence)
-- Fixed width, so that alarms with equal detection times stay in the order in which they came.
local member = string.format('%012.0f', sequence)
redis.call('XADD', KEYS[4], entry, unpack(ARGV, 8, 7 + historyCount))
redis.call('XADD', KEYS[5], entry, unpack(ARGV, 8 + historyCount))
redis.call('HSET', KEYS[2], id, sequence)
redis.call('ZADD', KEYS[6], ARGV[6], member)
redis.call('ZADD', KEYS[7], ARGV[6], member)
if receipt ~= '' then
  redis.call('HSET', KEYS[3], receipt, digest .. ':' .. string.format('%.0f', sequence))
  redis.call('EXPIRE', KEYS[3], ARGV[5])
end
return { 1, sequence }
