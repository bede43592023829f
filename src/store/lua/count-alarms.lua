-- Reads only.
-- Counts the alarms of an index between neighbouring bounds.
-- KEYS[1] index   ARGV bounds, milliseconds since 1970 in ascending order; a pair includes its lower bound
-- returns for each pair with alarms its number, from 0, and how many it has
local counts, at = {}, 1
while at < #ARGV do
  -- A year without an alarm takes one step, not 365.
  local next = redis.call('ZRANGEBYSCORE', KEYS[1], ARGV[at], '(' .. ARGV[#ARGV], 'WITHSCORES', 'LIMIT', 0, 1)[2]
  if not next then break end
  while tonumber(ARGV[at + 1]) <= tonumber(next) do at = at + 1 end
  counts[#counts + 1] = { at - 1, redis.call('ZCOUNT', KEYS[1], ARGV[at], '(' .. ARGV[at + 1]) }
  at = at + 1
end
return counts
