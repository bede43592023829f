-- Reads only.
-- Reads what the witness compares (witness.ts).
-- arg.kinds  the kinds of the site's records
-- returns JSON: identity, '' for none; runId of the server, and the evictedKeys since its start; for the site the number
--         of records by kind, and of changes; numbers of the oldestAlarm and newestAlarm, 0 for none

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

local history = infoOf(key('history'))
local oldest = history['first-entry']
local site = { change = tonumber(read('GET', key('sequence:site')) or 0) or 0 }
for _, kind in ipairs(arg.kinds) do site[kind] = read('HLEN', key('site:' .. kind)) or 0 end
return cjson.encode({
  identity = read('GET', key('identity')) or '',
  runId = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)') or '',
  evictedKeys = tonumber(string.match(redis.call('INFO', 'stats'), 'evicted_keys:(%d+)') or 0),
  site = site,
  oldestAlarm = numberOf(oldest and oldest[1]),
  newestAlarm = numberOf(history['last-generated-id']),
})
