-- Prepends a value to a bounded list, provided that the record which owns the list exists.
-- KEYS     the record, the list
-- ARGV     the value, the greatest length of the list
-- returns  1, or 0 when there is no such record and nothing was written
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
redis.call('LPUSH', KEYS[2], ARGV[1])
redis.call('LTRIM', KEYS[2], 0, ARGV[2] - 1)
return 1
