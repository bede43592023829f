-- Prepends values to a bounded list, provided that the record which owns the list exists.
-- KEYS     the record, the list
-- ARGV     the greatest length of the list, then the values, the last of which comes to its front
-- returns  1, or 0 when there is no such record and nothing was written
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
redis.call('LPUSH', KEYS[2], unpack(ARGV, 2))
redis.call('LTRIM', KEYS[2], 0, ARGV[1] - 1)
return 1
