-- Removes the oldest records of an index of the audit trail, as long as they are the given ones. By rank,
-- so that the append-only file gets one short line and not every record once more.
-- KEYS[1] index (apply-change.lua)
-- ARGV    12 digits of each record, the oldest first
-- returns how many were removed
local DIGITS = 12
local oldest = redis.call('ZRANGE', KEYS[1], 0, #ARGV - 1)
local count = 0
while count < #ARGV and oldest[count + 1] and string.sub(oldest[count + 1], 1, DIGITS) == ARGV[count + 1] do
  count = count + 1
end
if count > 0 then redis.call('ZREMRANGEBYRANK', KEYS[1], 0, count - 1) end
return count
