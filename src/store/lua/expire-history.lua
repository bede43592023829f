-- Removes entries from the history that are too old, oldest first and a bounded number at a time, with everything that
-- append.lua wrote for them.
-- arg.beforeMs    an entry received before this is too old   arg.plausibleMs  no clock that is set shows an earlier time
-- arg.queuedFrom  the first entry that a queue may still need   arg.count  how many at most
-- returns how many were removed
--- include history
local PAGES_TO_LOOK_AT = 20
local rows = redis.call('XRANGE', history, '-', '+', 'COUNT', arg.count)

local function fieldsOf(row)
  local entry = {}
  for at = 1, #row[2], 2 do entry[row[2][at]] = row[2][at + 1] end
  return entry
end

local function numberOf(row)
  return tonumber(string.match(row[1], '^%d+'))
end

-- An entry from before the clock was set, or without a time, goes with the next one whose age is known.
local last = 0
local function look(some)
  for at, row in ipairs(some) do
    local atMs = tonumber(fieldsOf(row).t) or 0
    if numberOf(row) >= arg.queuedFrom or atMs >= arg.beforeMs then return true end
    if atMs >= arg.plausibleMs then last = math.min(at, #rows) end
  end
  return #some < arg.count
end
local looked, isDone = rows, look(rows)
for _ = 1, PAGES_TO_LOOK_AT do
  if isDone or last > 0 then break end
  looked = redis.call('XRANGE', history, '(' .. looked[#looked][1], '+', 'COUNT', arg.count)
  isDone = look(looked)
  if last > 0 then last = #rows end
end

-- An overwritten key must not stop the removal.
local function removeId(id, number)
  local piece, field = placeOf(id)
  local known = redis.pcall('HGET', key('ids:' .. piece), field)
  if type(known) ~= 'string' then return end
  local others = {}
  for other in string.gmatch(known, '%d+') do
    if other ~= number then others[#others + 1] = other end
  end
  if #others == 0 then redis.call('HDEL', key('ids:' .. piece), field)
  else redis.call('HSET', key('ids:' .. piece), field, table.concat(others, ' ')) end
end

-- The indexes of a damaged record are unknown; list.lua passes over what they still hold.
local function removeFromIndexes(entry, number)
  local device, location = deviceIn(entry.c), locationIn(entry.c)
  if not (device and location and entry.k) then return end
  local piece, field = placeOf(entry.i .. device)
  redis.pcall('HDEL', key('alarm-states:' .. piece), field)
  local member = string.rep('0', 12 - #number) .. number
  for _, index in ipairs({
    'alarms:' .. location .. ':' .. device,
    'alarms:' .. location .. ':' .. entry.k,
    'open-alarms:' .. location .. ':' .. entry.k,
  }) do
    redis.pcall('ZREM', key(index), member)
  end
end

for at = 1, last do
  local entry, number = fieldsOf(rows[at]), text(numberOf(rows[at]))
  if entry.i then
    removeFromIndexes(entry, number)
    removeId(entry.i, number)
  end
  redis.call('XDEL', history, rows[at][1])
end

-- The last entry of a piece of proofs takes the piece with it.
if last > 0 then
  local function pieceOf(row) return math.floor(numberOf(row) / 100) end
  local left = redis.call('XRANGE', history, '-', '+', 'COUNT', 1)[1]
  local lastPiece = pieceOf(rows[last])
  if left and pieceOf(left) == lastPiece then lastPiece = lastPiece - 1 end
  for piece = pieceOf(rows[1]), lastPiece do redis.call('DEL', key('proofs:' .. text(piece))) end
end
return last
