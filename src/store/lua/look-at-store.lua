-- Reads only.
-- Reads what the witness compares (store-witness.ts).
-- KEYS[1] identity   KEYS[2] revision of the site   KEYS[3] history   KEYS[4] on: the records of each kind
-- ARGV[1] prefix of alarm groups, ARGV[2] of alarm indexes, in the slot of the history
-- ARGV[3] on: the kinds
-- returns JSON: identity, '' for none; runId of the server, and the evictedKeys since its start; for the site
--         the number of records by kind, and of changes; numbers of the oldestAlarm and newestAlarm, 0 for none;
--         missingIndexes: how many keys that should list the newest entry of the history are missing
--- include places
local groups, indexes = unpack(ARGV)

-- False for a key overwritten with another type: it has nothing of ours.
local function read(...)
  local reply = redis.pcall(...)
  return (type(reply) ~= 'table' or not reply.err) and reply
end

local function infoOf(stream)
  local fields = {}
  local info = read('XINFO', 'STREAM', stream) or {}
  for at = 1, #info, 2 do fields[info[at]] = info[at + 1] end
  return fields
end

local function numberOf(id)
  return tonumber(id and string.match(id, '^%d+') or 0)
end

-- No index lists a change of an alarm's state.
local function missingFor(entry)
  local fields = {}
  for at = 1, #entry[2], 2 do fields[entry[2][at]] = entry[2][at + 1] end
  local place = placeOf(fields.c)
  if not place or not fields.k then return 0 end
  local location, group = place.location.id, groupOf(place)
  local missing = 1 - (read('SISMEMBER', groups .. location, group) or 0)
  for _, index in ipairs({ location .. ':' .. group .. ':' .. fields.k, location .. ':' .. place.device.id }) do
    missing = missing + 1 - redis.call('EXISTS', indexes .. index)
  end
  return missing
end

local history = infoOf(KEYS[3])
local oldest, newest = history['first-entry'], history['last-entry']
local site = { change = tonumber(read('GET', KEYS[2]) or 0) or 0 }
for at = 4, #KEYS do site[ARGV[at - 1]] = read('HLEN', KEYS[at]) or 0 end
return cjson.encode({
  identity = read('GET', KEYS[1]) or '',
  runId = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)') or '',
  evictedKeys = tonumber(string.match(redis.call('INFO', 'stats'), 'evicted_keys:(%d+)') or 0),
  site = site,
  oldestAlarm = numberOf(oldest and oldest[1]),
  newestAlarm = numberOf(history['last-generated-id']),
  missingIndexes = newest and missingFor(newest) or 0,
})
