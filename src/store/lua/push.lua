-- Prepends values to a list and cuts it to its bounds.
-- arg.list   its whole key   arg.values  the last comes first in the list
-- arg.owner  the whole key of the hash and the id of the record that owns the list: without that record nothing is
--            written; false for none
-- arg.maxLength   arg.maxBytes  of memory
if arg.owner and redis.call('HEXISTS', arg.owner[1], arg.owner[2]) == 0 then return 0 end
redis.call('LPUSH', arg.list, unpack(arg.values))
redis.call('LTRIM', arg.list, 0, arg.maxLength - 1)
-- Half at a time: counting takes longer than pushing.
while redis.call('MEMORY', 'USAGE', arg.list, 'SAMPLES', 0) > arg.maxBytes do
  local length = redis.call('LLEN', arg.list)
  if length == 1 then break end
  redis.call('LTRIM', arg.list, 0, math.floor(length / 2) - 1)
end
return 1
