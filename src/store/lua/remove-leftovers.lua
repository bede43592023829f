-- Removes leftovers of locations and devices that no longer exist, neither as a record nor in the set of ids.
-- KEYS     the sets of ids of the locations and of the devices, the hash of when devices were last seen
-- ARGV[1]  JSON: { location, rejected, device: prefixes of keys in the same slot,
--                  locationIds, deviceIds: ids that may be gone }
-- returns  how many lists of invalid publishes and how many fields of the hash were removed
local leftovers = cjson.decode(ARGV[1])

local function isGone(set, record, id)
  return redis.call('SISMEMBER', set, id) == 0 and redis.call('EXISTS', record .. id) == 0
end

local lists, fields = 0, 0
for _, id in ipairs(leftovers.locationIds) do
  if isGone(KEYS[1], leftovers.location, id) then
    lists = lists + redis.call('DEL', leftovers.rejected .. id)
  end
end
for _, id in ipairs(leftovers.deviceIds) do
  if isGone(KEYS[2], leftovers.device, id) then
    fields = fields + redis.call('HDEL', KEYS[3], id)
  end
end
return { lists, fields }
