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

-- The queues that have entries, by the names of their destinations, with the first number and the last.
local function filledQueues()
  local filled = {}
  for _, name in ipairs(redis.call('SMEMBERS', key('sessions'))) do
    local length = lengthOf(name) or 0
    if length > 0 then
      local queue = key('queue:' .. name)
      local function at(index) return tonumber(redis.call('LINDEX', queue, index)) or 0 end
      filled[name] = { at = at, length = length, first = at(0), last = at(-1) }
    end
  end
  return filled
end

-- Whether the entry is in the queue, where numbers are in rising order.
local function hasQueued(queue, number)
  if number < queue.first or number > queue.last then return false end
  local low, high = 0, queue.length - 1
  while low <= high do
    local middle = math.floor((low + high) / 2)
    local found = queue.at(middle)
    if found == number then return true end
    if found < number then low = middle + 1 else high = middle - 1 end
  end
  return false
end
