-- Destinations: a hash holds the record and the account of each, a list the numbers of the entries that it will get.

-- Whether a count can be added to: HINCRBY accepts no other text.
local function isCount(value)
  return not value or (#value < 16 and string.match(value, '^%d+$') ~= nil)
end

-- Whether the destination exists and has counts in these fields.
local function hasAccount(name, ...)
  local values = redis.pcall('HMGET', key('session:' .. name), 'owner', ...)
  if values.err or not values[1] then return false end
  for at = 2, #values do
    if not isCount(values[at]) then return false end
  end
  return true
end

-- The length of the queue, nil for a key of another type.
local function lengthOf(name)
  local length = redis.pcall('LLEN', key('queue:' .. name))
  if type(length) == 'number' then return length end
end
