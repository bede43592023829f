-- Removes what append.lua wrote for an entry of the history.
local function numberOf(row)
  return tonumber(string.match(row[1], '^%d+'))
end

local function valuesOf(row)
  local entry = {}
  for at = 1, #row[2], 2 do entry[row[2][at]] = row[2][at + 1] end
  return entry
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

local function removeEntry(row)
  local entry, number = valuesOf(row), text(numberOf(row))
  if entry.i then
    removeFromIndexes(entry, number)
    removeId(entry.i, number)
  end
  redis.call('XDEL', history, row[1])
end
