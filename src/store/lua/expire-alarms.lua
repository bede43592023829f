-- Removes expired entries from the history, oldest first and a bounded number at a time, with everything that
-- append-alarms.lua wrote for them.
-- KEYS[1] history
-- ARGV[1] sequence of the last one to remove   ARGV[2] how many at most
-- ARGV[3] prefixes (all in the same slot as the history) of alarm indexes, ARGV[4] of alarm ids,
-- ARGV[5] of groups of alarms, ARGV[6] of states, ARGV[7] of open alarms
-- ARGV[8] the first entry that a queue may still need   ARGV[9] prefix of proofs (shared/proofs.lua)
-- returns how many were removed
--- include places
local last, limit = ARGV[1], ARGV[2]
local indexes, ids, groups, states, open = unpack(ARGV, 3, 7)
local neededFrom = tonumber(ARGV[8])
-- As in change-alarm-state.lua.
local STATES_PER_PIECE = 100
-- The length of `ALARM_KINDS`.
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

local function fieldsOf(row)
  local entry = {}
  for at = 1, #row[2], 2 do entry[row[2][at]] = row[2][at + 1] end
  return entry
end

-- Forgets a group of a location once it has no alarms left.
local function leaveGroup(location, group)
  for kind = 0, KINDS - 1 do
    if redis.call('EXISTS', indexes .. location .. ':' .. group .. ':' .. kind) == 1 then return end
  end
  redis.call('SREM', groups .. location, group)
end

-- Removes the states of an alarm, and their entries unless a queue still needs these.
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
      if row and fieldsOf(row).j == id then redis.call('XDEL', KEYS[1], entry) end
    end
  end
end

local function removeAlarm(row)
  local alarm = fieldsOf(row)
  local sequence = tonumber(string.match(row[1], '^%d+'))
  removeStates(sequence, alarm.i)
  local place = placeOf(alarm.c)
  -- The indexes of a damaged record are unknown; read-alarms.lua skips what they still hold.
  if place and alarm.k and alarm.i then
    local location, device, groupId = place.location.id, place.device.id, groupOf(place)
    local member = string.format('%012.0f', sequence)
    -- An overwritten index must not stop the removal.
    local scope = location .. ':' .. groupId .. ':' .. alarm.k
    redis.pcall('ZREM', indexes .. location .. ':' .. device, member)
    redis.pcall('ZREM', open .. scope, member)
    redis.pcall('ZREM', indexes .. scope, member)
    if redis.call('EXISTS', indexes .. scope) == 0 then leaveGroup(location, groupId) end
    removeId(alarm.i, sequence)
  end
  redis.call('XDEL', KEYS[1], row[1])
end

local rows = redis.call('XRANGE', KEYS[1], '-', last, 'COUNT', limit)
for _, row in ipairs(rows) do
  if fieldsOf(row).s then redis.call('XDEL', KEYS[1], row[1]) else removeAlarm(row) end
end

-- The last alarm of a piece of proofs takes the piece with it.
local function pieceOf(row)
  return math.floor(tonumber(string.match(row[1], '^%d+')) / 100)
end
if #rows > 0 then
  local left = redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', 1)[1]
  local lastPiece = pieceOf(rows[#rows])
  if left and pieceOf(left) == lastPiece then lastPiece = lastPiece - 1 end
  for piece = pieceOf(rows[1]), lastPiece do redis.call('DEL', ARGV[9] .. string.format('%.0f', piece)) end
end
return #rows
