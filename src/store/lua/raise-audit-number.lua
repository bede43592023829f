-- Raises the counter of the audit trail, so that new records get higher numbers than this one.
-- KEYS[1] counter of the records
-- ARGV[1] the highest number that there is elsewhere
-- returns the number of the last record
local last = tonumber(redis.call('GET', KEYS[1]) or '0')
if last >= tonumber(ARGV[1]) then return last end
redis.call('SET', KEYS[1], ARGV[1])
return tonumber(ARGV[1])
