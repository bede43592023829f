-- Pushes the numbers of alarms onto the queues of their destinations. One integer holds the number and the tag of its
-- batch: after a failover the store may give a number again, and settling the old item must not remove the new one.

-- The destinations that cannot be pushed to, because their record is gone or a key was overwritten.
local function unusableQueues(hashes, queues, destinations)
  local unusable = {}
  for _, row in ipairs(destinations) do
    local name = row[1]
    local isUsable = hasAccount(hashes .. name, 'alarms.accepted') and lengthOf('LLEN', queues .. name)
    if not isUsable then unusable[#unusable + 1] = name end
  end
  return unusable
end

local function itemOf(number, tag)
  return string.format('%.0f', number * 65536 + tag)
end

-- Pushes the items of each destination; returns the lengths of the queues.
local function pushAll(hashes, queues, destinations, itemsOf)
  local lengths = {}
  for number, row in ipairs(destinations) do
    local items = itemsOf[number]
    if items then
      redis.call('HINCRBY', hashes .. row[1], 'alarms.accepted', #items)
      lengths[number] = redis.call('RPUSH', queues .. row[1], unpack(items))
    else
      lengths[number] = redis.call('LLEN', queues .. row[1])
    end
  end
  return lengths
end
