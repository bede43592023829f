-- Prepends values to a list and cuts it to its bounds.
-- KEYS     the list; the hash with the record that owns it, if any: without that record nothing is written
-- ARGV     id of that record, '' for none; the greatest length of the list; how many bytes of memory it may take;
--          then the values, of which the last comes first in the list
-- returns  1, or 0 if nothing was written
if KEYS[2] and redis.call('HEXISTS', KEYS[2], ARGV[1]) == 0 then return 0 end
redis.call('LPUSH', KEYS[1], unpack(ARGV, 4))
redis.call('LTRIM', KEYS[1], 0, ARGV[2] - 1)
-- Half at a time: counting takes longer than pushing.
while redis.call('MEMORY', 'USAGE', KEYS[1], 'SAMPLES', 0) > tonumber(ARGV[3]) do
  local length = redis.call('LLEN', KEYS[1])
  if length == 1 then break end
  redis.call('LTRIM', KEYS[1], 0, math.floor(length / 2) - 1)
end
return 1
