-- Appends a batch of alarms to the history, each once: record, indexes, id, received packet identifier, and its
-- number on the queue of every destination, in one atomic write (docs/reference/contract.md, 4.1 and 4.2).
-- KEYS[1] sequence counter   KEYS[2] history
-- ARGV[1] to ARGV[8] prefixes, all in the slot of the history: of alarm ids, of receipts, of alarm indexes, of alarm
--                    groups, of received packet identifiers, of open alarms, of destinations, of queues
-- ARGV[9] seconds to keep receipts   ARGV[10] the tag of the batch
-- ARGV[11] MessagePack: for each destination its name
-- ARGV[12] MessagePack: sets of destinations, each as their numbers
-- ARGV[13] MessagePack: for each place of these alarms
--          1 its text, 2 device, 3 location, 4 group ('' for none)
-- ARGV[14] MessagePack: for each alarm
--          1 which of the places it has, 2 kind
--          3 piece and 4 field of its id (alarm-records.ts)
--          5 to 10 values of the record: i, r, a, d, x, t (alarm-records.ts)
--         11 time of detection, in milliseconds
--         12 receipt: packet identifier, '' when the id is stable, 13 digest of the payload,
--         14 1 when the packet has DUP set
--         15 session and 16 packet identifier of a QoS 2 publish, '' for none
--         17 which of the sets gets it
--         18 for each escalation when it is due, and its name, '' for none
-- ARGV[15] sorted set: escalations by due time   ARGV[16] the newest number that the gateway knows
-- Stored numbers are texts: otherwise Redis would have to format each of them.
-- returns { for each alarm its sequence: negative if recorded before; for each destination the length of its queue },
--         or { {}, {}, the destinations that cannot be pushed to }, or an error `WENTBACK n`; the last two with nothing
--         written
--- include last-number
--- include destinations
--- include queues
--- include places
local counter, history = KEYS[1], KEYS[2]
local ids, receipts, indexes, groups, received, open, hashes, queues, keepSeconds = unpack(ARGV, 1, 9)
local tag, destinations, sets = tonumber(ARGV[10]), cmsgpack.unpack(ARGV[11]), cmsgpack.unpack(ARGV[12])
local places, alarms = cmsgpack.unpack(ARGV[13]), cmsgpack.unpack(ARGV[14])

local last, wentBack = lastAlarm(counter, history, ARGV[16])
if wentBack then return wentBack end
local unusable = unusableQueues(hashes, queues, destinations)
if #unusable > 0 then return { {}, {}, unusable } end

-- A batch that waited for the store may hold both an alarm and its retransmission.
local results, new, receiptsInBatch = {}, {}, {}
-- The sequences under each id, including those from this batch; and the devices of the sequences from this batch.
local sequencesOf, devicesInBatch = {}, {}

-- Several devices may use one id, and the number of a lost alarm may go to another one.
local function isAlarmOf(device, id, sequence)
  if devicesInBatch[sequence] then return devicesInBatch[sequence] == device end
  local row = redis.call('XRANGE', history, sequence .. '-0', sequence .. '-0')[1]
  local known = {}
  for at = 1, row and #row[2] or 0, 2 do known[row[2][at]] = row[2][at + 1] end
  local place = placeOf(known.c)
  return known.i == id and place and place.device.id == device
end

local function recordedBefore(alarm)
  local piece, field = alarm[3], alarm[4]
  local device, receipt, digest = places[alarm[1]][2], alarm[12], alarm[13]
  if receipt ~= '' and alarm[14] == 1 then
    local known = receiptsInBatch[device .. receipt] or redis.call('HGET', receipts .. device, receipt) or ''
    local sequence, receivedAtMs = string.match(string.sub(known, #digest + 1), '^:(%d+):(%d+)$')
    -- Packet identifiers begin again with each start of a device: an old receipt is of another alarm.
    local isSame = sequence and string.sub(known, 1, #digest) == digest
    if isSame and alarm[10] - receivedAtMs < keepSeconds * 1000 then return tonumber(sequence) end
  end
  local known = sequencesOf[piece .. field] or redis.call('HGET', ids .. piece, field)
  sequencesOf[piece .. field] = known
  for sequence in string.gmatch(known or '', '%d+') do
    if isAlarmOf(device, alarm[5], sequence) then return tonumber(sequence) end
  end
end

local function text(sequence)
  return string.format('%d', sequence)
end

local function receiptOf(alarm, sequence)
  return alarm[13] .. ':' .. text(sequence) .. ':' .. alarm[10]
end

-- The indexes of a place, by kind: their names are long, and many alarms share them.
local indexNames = {}
local function indexesOf(place, kind)
  local names = indexNames[place] or {}
  indexNames[place] = names
  local device, location, group = place[2], place[3], place[4]
  names[kind] = names[kind] or {
    indexes .. location .. ':' .. device,
    indexes .. location .. ':' .. group .. ':' .. kind,
    open .. location .. ':' .. group .. ':' .. kind,
  }
  return names[kind]
end

-- Fails for a key of another type. All checks come before the first write, because a script is not rolled back.
local checked = {}
local function check(command, key)
  if not checked[key] then redis.call(command, key) end
  checked[key] = true
end

for number, alarm in ipairs(alarms) do
  if alarm[15] ~= '' then check('HLEN', received .. alarm[15]) end
  local before = recordedBefore(alarm)
  if before then
    results[number] = -before
  else
    last = last + 1
    results[number] = last
    local place = places[alarm[1]]
    local id, sequence = alarm[3] .. alarm[4], text(last)
    sequencesOf[id] = sequencesOf[id] and sequencesOf[id] .. ' ' .. sequence or sequence
    devicesInBatch[sequence] = place[2]
    if alarm[12] ~= '' then
      check('HLEN', receipts .. place[2])
      receiptsInBatch[place[2] .. alarm[12]] = receiptOf(alarm, last)
    end
    for _, index in ipairs(indexesOf(place, alarm[2])) do check('ZCARD', index) end
    check('SCARD', groups .. place[3])
    if alarm[18] ~= '' then check('ZCARD', ARGV[15]) end
    new[#new + 1] = alarm
  end
end

-- All additions of a batch to one index, or to one queue, are one command.
local itemsOf = {}
local function addToQueues(set, item)
  for _, number in ipairs(set) do
    local items = itemsOf[number] or {}
    itemsOf[number] = items
    items[#items + 1] = item
  end
end

local additions, indexOrder = {}, {}
local function addToIndex(index, alarm, member)
  local added = additions[index]
  if not added then
    added = {}
    additions[index] = added
    indexOrder[#indexOrder + 1] = index
  end
  added[#added + 1] = alarm[11]
  added[#added + 1] = member
end

local function add(alarm, sequence)
  local place, kind = places[alarm[1]], alarm[2]
  local number = text(sequence)
  -- Fixed width keeps alarms with equal detection times in the order of arrival.
  local member = string.rep('0', 12 - #number) .. number
  redis.call('XADD', history, number .. '-0', 'i', alarm[5], 'k', kind, 'r', alarm[6], 'a', alarm[7],
    'c', place[1], 'd', alarm[8], 'x', alarm[9], 't', alarm[10])
  redis.call('HSET', ids .. alarm[3], alarm[4], sequencesOf[alarm[3] .. alarm[4]])
  for _, index in ipairs(indexesOf(place, kind)) do addToIndex(index, alarm, member) end
  for dueAtMs, name in string.gmatch(alarm[18], '(%d+) ([%w-]+)') do
    redis.call('ZADD', ARGV[15], dueAtMs, number .. ':' .. name)
  end
  if alarm[12] ~= '' then
    local receiptsOfDevice = receipts .. place[2]
    redis.call('HSET', receiptsOfDevice, alarm[12], receiptOf(alarm, sequence))
    redis.call('EXPIRE', receiptsOfDevice, keepSeconds)
  end
end

if #new > 0 then redis.call('SET', counter, text(last)) end
local isGrouped = {}
for number, alarm in ipairs(new) do
  add(alarm, last - #new + number)
  addToQueues(sets[alarm[17]], itemOf(last - #new + number, tag))
  local place = places[alarm[1]]
  -- Every time: the store may have lost it since, and without it no listing has the alarm.
  if not isGrouped[place] then redis.call('SADD', groups .. place[3], place[4]) end
  isGrouped[place] = true
end
for _, index in ipairs(indexOrder) do redis.call('ZADD', index, unpack(additions[index])) end
for _, alarm in ipairs(alarms) do
  if alarm[15] ~= '' then redis.call('HSET', received .. alarm[15], alarm[16], '') end
end
return { results, pushAll(hashes, queues, destinations, itemsOf) }
