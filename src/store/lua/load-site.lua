-- The whole site at one moment.
-- KEYS     the sets of ids: locations, groups, rooms, devices, access tokens
-- ARGV     for each of them, the prefix of its records' keys (all in the same slot)
-- returns  for each of them, the list of its records: [[id, [field, value, …]], …]
local site = {}
for kind, set in ipairs(KEYS) do
  local records = {}
  for _, id in ipairs(redis.call('SMEMBERS', set)) do
    records[#records + 1] = { id, redis.call('HGETALL', ARGV[kind] .. id) }
  end
  site[kind] = records
end
return site
