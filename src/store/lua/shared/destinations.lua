-- Destinations of a batch: a hash holds the record and account of each, a list or stream what it will get.

-- Whether a count can be added to: HINCRBY accepts no other text.
local function isCount(text)
  return not text or (#text < 16 and string.match(text, '^%d+$') ~= nil)
end

-- Whether the hash exists and has counts in these fields.
local function hasAccount(hash, ...)
  local values = redis.pcall('HMGET', hash, 'owner', ...)
  if values.err or not values[1] then return false end
  for at = 2, #values do
    if not isCount(values[at]) then return false end
  end
  return true
end

-- The length of a list or a stream, nil for a key of another type.
local function lengthOf(command, key)
  local length = redis.pcall(command, key)
  if type(length) == 'number' then return length end
end
