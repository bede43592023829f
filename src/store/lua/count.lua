-- Reads only.
-- Counts the alarms of an index between neighbouring bounds.
-- arg.index  its name   arg.bounds  texts, milliseconds since 1970 in ascending order; a pair includes its lower bound
-- returns for each pair with alarms its number, from 0, and how many it has
local index, bounds = key(arg.index), arg.bounds
local counts, at = {}, 1
while at < #bounds do
  -- A year without an alarm takes one step, not 365.
  local next = redis.call('ZRANGEBYSCORE', index, bounds[at], '(' .. bounds[#bounds], 'WITHSCORES', 'LIMIT', 0, 1)[2]
  if not next then break end
  while tonumber(bounds[at + 1]) <= tonumber(next) do at = at + 1 end
  counts[#counts + 1] = { at - 1, redis.call('ZCOUNT', index, bounds[at], '(' .. bounds[at + 1]) }
  at = at + 1
end
return counts
