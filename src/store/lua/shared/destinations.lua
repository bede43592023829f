-- Destinations of a batch: the hash of each has its record and its account, a list or stream what it is to get.

-- Whether a count may be added to; HINCRBY takes no other text.
local function isCount(text)
  return not text or (#text < 16 and string.match(text, '^%d+$') ~= nil)
end

-- Whether the hash is there, with counts in these fields.
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
