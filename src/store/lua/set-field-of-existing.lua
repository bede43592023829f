-- Sets a field of a hash, provided that the record which the field is about exists.
-- KEYS     the record, the hash
-- ARGV     the field, its value
-- returns  1, or 0 when there is no such record and nothing was written
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
return 1
