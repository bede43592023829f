-- The history: a stream whose entries have ids of the form `<number>-0`, and the counter of its numbers.
local history, counter = key('history'), key('sequence:history')

local function text(number)
  return string.format('%.0f', number)
end

-- The last number that a stream has had, even if its entry is gone; 0 for none.
local function lastOf(stream)
  if redis.call('EXISTS', stream) == 0 then return 0 end
  local info = redis.call('XINFO', 'STREAM', stream)
  for at = 1, #info, 2 do
    if info[at] == 'last-generated-id' then return tonumber(string.match(info[at + 1], '^%d+')) end
  end
end

-- The names and values of an entry, nil if it is gone.
local function fieldsAt(number)
  local row = redis.call('XRANGE', history, number .. '-0', number .. '-0')[1]
  return row and row[2]
end

-- The values of an entry by name, nil if it is gone.
local function entryAt(number)
  local fields = fieldsAt(number)
  if not fields then return nil end
  local entry = {}
  for at = 1, #fields, 2 do entry[fields[at]] = fields[at + 1] end
  return entry
end

-- The text of a place begins with its device and its location; a quotation mark inside of a name is escaped.
local function deviceIn(place)
  return string.match(place or '', '^{"device":{"id":"([^"]+)"')
end

local function locationIn(place)
  return string.match(place or '', '"location":{"id":"([^"]+)"')
end

-- Where a hash of many pieces keeps what belongs to these bytes: as `digestPlace` in history/entries.ts.
local function placeOf(bytes)
  local digest = redis.sha1hex(bytes)
  local function digits(from, to) return tonumber(string.sub(digest, from, to), 16) end
  local field = struct.pack('>I4I4I2', digits(5, 12), digits(13, 20), digits(21, 24))
  return text(math.floor(digits(1, 4) / 2)), field
end

local function statesOf(id, device)
  local piece, field = placeOf(id .. device)
  return redis.call('HGET', key('alarm-states:' .. piece), field) or ''
end
