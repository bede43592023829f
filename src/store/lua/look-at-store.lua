-- Reads only.
-- Reads what the witness compares (store-witness.ts).
-- KEYS[1] identity   KEYS[2] revision of the site   KEYS[3] history   KEYS[4] on: the records of each kind
-- ARGV[1] prefix of places, ARGV[2] of alarm groups, ARGV[3] of alarm indexes, in the slot of the history
-- ARGV[4] on: the kinds
-- returns JSON: identity, '' for none; runId of the server, and the evictedKeys since its start; of the site
--         the number of records by kind, and of changes; numbers of the oldestAlarm and newestAlarm, 0 for none;
--         missingIndexes: how many of the keys are missing that list the newest entry of the history
local places, groups, indexes = unpack(ARGV)

-- A key that was overwritten with another type has nothing of ours: false.
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

-- A change of an alarm's state needs its place only: it may outlive the alarm, and so the indexes.
local function missingFor(entry)
  local fields = {}
  for at = 1, #entry[2], 2 do fields[entry[2][at]] = entry[2][at + 1] end
  local place = fields.p or fields.q
  if not place then return 0 end
  local location, device, group = unpack(read('HMGET', places .. place, 'l', 'd', 'g') or {})
  if not location or not device or not group then return 1 end
  if not fields.p or not fields.k then return 0 end
  local missing = 0
  for _, scope in ipairs({ location, location .. ':' .. device }) do
    local index = indexes .. scope .. ':' .. group .. ':' .. fields.k
    missing = missing + 1 - (read('SISMEMBER', groups .. scope, group) or 0)
    if redis.call('EXISTS', index, index .. ':blocks') == 0 then missing = missing + 1 end
  end
  return missing
end

local history = infoOf(KEYS[3])
local oldest, newest = history['first-entry'], history['last-entry']
local site = { change = tonumber(read('GET', KEYS[2]) or 0) or 0 }
for at = 4, #KEYS do site[ARGV[at]] = read('HLEN', KEYS[at]) or 0 end
return cjson.encode({
  identity = read('GET', KEYS[1]) or '',
  runId = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)') or '',
  evictedKeys = tonumber(string.match(redis.call('INFO', 'stats'), 'evicted_keys:(%d+)') or 0),
  site = site,
  oldestAlarm = numberOf(oldest and oldest[1]),
  newestAlarm = numberOf(history['last-generated-id']),
  missingIndexes = newest and missingFor(newest) or 0,
})
