-- Removes alarms whose time in the history is over, the oldest first, a bounded number at a time, with
-- everything that append-alarms.lua wrote for them.
-- KEYS[1] history
-- ARGV[1] sequence of the last one to remove   ARGV[2] how many at most
-- ARGV[3] prefixes (all in the same slot as the history) of alarm indexes, ARGV[4] of alarm ids,
-- ARGV[5] of places, ARGV[6] of groups of alarms, ARGV[7] of states
-- ARGV[8] the first entry that somebody may still need   ARGV[9] prefix of open alarms
-- returns how many were removed
local last, limit = ARGV[1], ARGV[2]
local indexes, ids, places, groups, states = unpack(ARGV, 3, 7)
local neededFrom, open = tonumber(ARGV[8]), ARGV[9]
-- As in change-alarm-state.lua.
local STATES_PER_PIECE = 100

-- As many as `ALARM_KINDS` has.
local KINDS = 8

-- Finds piece and field as alarm-records.ts does.
local function removeId(id, sequence)
  local digest = redis.sha1hex(id)
  local piece = math.floor(tonumber(string.sub(digest, 1, 4), 16) / 2)
  local field = string.gsub(string.sub(digest, 5, 24), '..', function(byte)
    return string.char(tonumber(byte, 16))
  end)
  local key, others = ids .. string.format('%.0f', piece), {}
  for other in string.gmatch(redis.call('HGET', key, field) or '', '%d+') do
    if tonumber(other) ~= sequence then others[#others + 1] = other end
  end
  if #others == 0 then redis.call('HDEL', key, field)
  else redis.call('HSET', key, field, table.concat(others, ' ')) end
end

-- An alarm is in the index itself or in a block (append-alarms.lua). Alarms go in the order of their
-- sequences, so a block goes with the highest in it.
local function removeFromIndex(index, detectedAt, sequence)
  if redis.call('ZREM', index, string.format('%012.0f', sequence)) == 1 then return end
  local blocks = index .. ':blocks'
  local block = redis.call('ZRANGEBYSCORE', blocks, detectedAt, '+inf', 'LIMIT', 0, 1)[1]
  if block and tonumber(block) <= sequence then
    redis.call('DEL', index .. ':' .. block)
    redis.call('ZREM', blocks, block)
  end
end

local function fieldsOf(row)
  local entry = {}
  for at = 1, #row[2], 2 do entry[row[2][at]] = row[2][at + 1] end
  return entry
end

-- Forgets a group of a location, or of a device in it, when no alarm in it is left.
local function leaveGroup(scope, group)
  for kind = 0, KINDS - 1 do
    local index = indexes .. scope .. ':' .. group .. ':' .. kind
    if redis.call('EXISTS', index, index .. ':blocks') > 0 then return end
  end
  redis.call('SREM', groups .. scope, group)
end

-- Counts an alarm or a change of its state out of a place; the last one removes it.
local function leavePlace(place, location, device, group)
  if redis.call('HINCRBY', place, 'n', -1) > 0 then return end
  redis.call('DEL', place)
  leaveGroup(location, group)
  leaveGroup(location .. ':' .. device, group)
end

-- A change of an alarm that expires in the same call may be gone already.
local function removeChange(row)
  if redis.call('XDEL', KEYS[1], row[1]) == 0 then return end
  local place = places .. (fieldsOf(row).q or '')
  local location, device, group = unpack(redis.call('HMGET', place, 'l', 'd', 'g'))
  if location and device and group then leavePlace(place, location, device, group) end
end

-- Removes the states of an alarm, and their entries, unless somebody has yet to get those.
local function removeStates(sequence, id)
  local piece = states .. string.format('%.0f', math.floor(sequence / STATES_PER_PIECE))
  local stored = redis.call('HGET', piece, string.format('%.0f', sequence))
  if not stored then return end
  redis.call('HDEL', piece, string.format('%.0f', sequence))
  local isReadable, known = pcall(cjson.decode, string.sub(stored, 18))
  if string.sub(stored, 1, 16) ~= id or not isReadable then return end
  for _, step in ipairs({ known.acknowledged or {}, known.resolved or {} }) do
    if step.sequence and step.sequence < neededFrom then
      local entry = string.format('%.0f-0', step.sequence)
      local row = redis.call('XRANGE', KEYS[1], entry, entry)[1]
      if row and fieldsOf(row).j == id then removeChange(row) end
    end
  end
end

local function removeAlarm(row)
  local entry, alarm = row[1], fieldsOf(row)
  local place = places .. (alarm.p or '')
  local location, device, group = unpack(redis.call('HMGET', place, 'l', 'd', 'g'))
  local sequence = tonumber(string.match(entry, '^%d+'))
  removeStates(sequence, alarm.i)
  -- Without the place, or fields of a damaged record, the indexes are unknown; alarm-page.lua skips what they still hold.
  if location and device and group then
    if alarm.k and alarm.i then
      local detectedAt = (tonumber(alarm.r) or 0) - (tonumber(alarm.a) or 0)
      local index = ':' .. group .. ':' .. alarm.k
      removeFromIndex(indexes .. location .. index, detectedAt, sequence)
      removeFromIndex(indexes .. location .. ':' .. device .. index, detectedAt, sequence)
      redis.call('ZREM', open .. location .. index, string.format('%012.0f', sequence))
      removeId(alarm.i, sequence)
    end
    leavePlace(place, location, device, group)
  end
  redis.call('XDEL', KEYS[1], entry)
end

local removed = 0
for _, row in ipairs(redis.call('XRANGE', KEYS[1], '-', last, 'COUNT', limit)) do
  if fieldsOf(row).s then removeChange(row) else removeAlarm(row) end
  removed = removed + 1
end
-- The empty stream stays: one that is gone was lost (look-at-store.lua).
if redis.call('XLEN', KEYS[1]) == 0 then redis.call('DEL', open .. 'from') end
return removed
