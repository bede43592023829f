-- Prepends values to a bounded list, provided that the record which owns the list exists.
-- KEYS     the record, the list
-- ARGV     the greatest length of the list, how many bytes of memory it may take, then the values, the last
--          of which comes to its front
-- returns  1, or 0 when there is no such record and nothing was written
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
redis.call('LPUSH', KEYS[2], unpack(ARGV, 3))
redis.call('LTRIM', KEYS[2], 0, ARGV[1] - 1)
-- Half at a time: counting takes longer than pushing.
while redis.call('MEMORY', 'USAGE', KEYS[2], 'SAMPLES', 0) > tonumber(ARGV[2]) do
  local length = redis.call('LLEN', KEYS[2])
  if length == 1 then break end
  redis.call('LTRIM', KEYS[2], 0, math.floor(length / 2) - 1)
end
return 1
