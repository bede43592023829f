-- Appends a batch of alarms to the alarm log, which is the history, each once: record, indexes, id and
-- received packet identifier in one atomic write (CONTRACT 4.1, 4.2).
-- KEYS[1] sequence counter   KEYS[2] alarm log
-- ARGV[1] to ARGV[7] prefixes, all in the slot of the log: of alarm ids, of receipts, of alarm indexes,
--                    of places, of alarm groups, of received packet identifiers, of open alarms
-- ARGV[8] seconds to keep receipts
-- ARGV[9] MessagePack: for each place of these alarms
--         1 digest and 2 text, 3 device, 4 location, 5 group ('' for none)
-- ARGV[10] MessagePack: for each alarm
--         1 which of the places it is, 2 kind
--         3 piece and 4 field of its id (alarm-records.ts)
--         5 to 10 values of the record: i, r, a, d, x, t (alarm-records.ts)
--        11 time of detection, in milliseconds
--        12 receipt: packet identifier, '' when the id is stable, 13 digest of the payload,
--        14 1 when the packet has DUP set
--        15 session and 16 packet identifier of a QoS 2 publish, '' for none
-- Numbers that are stored are texts, for Redis would have to print each of them.
-- returns for each alarm its sequence: negative when it had been recorded before
local counter, log = KEYS[1], KEYS[2]
local ids, receipts, indexes, places, groups, received, open, keepSeconds = unpack(ARGV, 1, 8)
local alarmPlaces, alarms = cmsgpack.unpack(ARGV[9]), cmsgpack.unpack(ARGV[10])

-- A counter that was lost, set back or overwritten must not stop the recording, nor may
-- a number be given twice: the stream knows the last one, also when its entry is gone.
local function lastOf(stream)
  if redis.call('EXISTS', stream) == 0 then return 0 end
  local info = redis.call('XINFO', 'STREAM', stream)
  for at = 1, #info, 2 do
    if info[at] == 'last-generated-id' then return tonumber(string.match(info[at + 1], '^%d+')) end
  end
end
local last = math.max(tonumber(redis.pcall('GET', counter)) or 0, lastOf(log))

-- One batch that waited for the store may hold both an alarm and its retransmission.
local results, new, receiptsInBatch = {}, {}, {}
-- The sequences under each id of the batch, those of the batch too; and the devices of the latter.
local sequencesOf, devicesInBatch = {}, {}

-- Several devices may use one id, and a number whose alarm was lost may be given to another one.
local function isAlarmOf(device, id, sequence)
  if devicesInBatch[sequence] then return devicesInBatch[sequence] == device end
  local row = redis.call('XRANGE', log, sequence .. '-0', sequence .. '-0')[1]
  local known = {}
  for at = 1, row and #row[2] or 0, 2 do known[row[2][at]] = row[2][at + 1] end
  return known.i == id and redis.call('HGET', places .. (known.p or ''), 'd') == device
end

local function recordedBefore(alarm)
  local piece, field = alarm[3], alarm[4]
  local device, receipt, digest = alarmPlaces[alarm[1]][3], alarm[12], alarm[13]
  if receipt ~= '' and alarm[14] == 1 then
    local known = receiptsInBatch[device .. receipt] or redis.call('HGET', receipts .. device, receipt)
    if known and string.sub(known, 1, #digest + 1) == digest .. ':' then
      return tonumber(string.sub(known, #digest + 2))
    end
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
  return alarm[13] .. ':' .. text(sequence)
end

-- All checks come before the first write, because a script is not rolled back.
for number, alarm in ipairs(alarms) do
  if alarm[15] ~= '' then redis.call('HLEN', received .. alarm[15]) end
  local before = recordedBefore(alarm)
  if before then
    results[number] = -before
  else
    last = last + 1
    results[number] = last
    local id, sequence = alarm[3] .. alarm[4], text(last)
    sequencesOf[id] = sequencesOf[id] and sequencesOf[id] .. ' ' .. sequence or sequence
    devicesInBatch[sequence] = alarmPlaces[alarm[1]][3]
    if alarm[12] ~= '' then
      receiptsInBatch[alarmPlaces[alarm[1]][3] .. alarm[12]] = receiptOf(alarm, last)
    end
    new[#new + 1] = alarm
  end
end

-- An alarm takes 100 bytes in a sorted set that is not short. So a long index packs its oldest alarms into a
-- block: a string of member and detection time of each, in their order. The list of blocks is a sorted set, by
-- the detection time of a block's last alarm; a block's name is its highest member, with which it expires.
-- Blocks follow each other: an alarm that comes too late for that stays in the index.
-- This many fill 3 KiB.
local LONG_INDEX, BLOCK_ALARMS = 160, 122
-- All times in a block have 13 digits: none is before 2001, by a clock that was not set.
local BEFORE_BLOCKS = '999999999999'

-- Returns whether it packed a block.
local function shorten(index)
  local count, blocks = redis.call('ZCARD', index), index .. ':blocks'
  if count < LONG_INDEX then return false end
  local lastTime = redis.call('ZRANGE', blocks, -1, -1, 'WITHSCORES')[2]
  local start = redis.call('ZCOUNT', index, '-inf', lastTime or BEFORE_BLOCKS)
  if count - start < LONG_INDEX then return false end
  local stop, highest = start + BLOCK_ALARMS - 1, ''
  local oldest = redis.call('ZRANGE', index, start, stop, 'WITHSCORES')
  for at = 1, #oldest, 2 do
    if oldest[at] > highest then highest = oldest[at] end
  end
  redis.call('SET', index .. ':' .. highest, table.concat(oldest))
  redis.call('ZADD', blocks, oldest[#oldest], highest)
  redis.call('ZREMRANGEBYRANK', index, start, stop)
  return true
end

-- What a batch adds to one index is one command.
local additions, indexOrder = {}, {}

local function addToIndex(index, alarm, member)
  local added = additions[index]
  if not added then
    added = { looks = 0 }
    additions[index] = added
    indexOrder[#indexOrder + 1] = index
  end
  added[#added + 1] = alarm[11]
  added[#added + 1] = member
  -- One alarm in eight looks, which is often enough; its digest is as good as random.
  if string.byte(alarm[4]) < 32 then added.looks = added.looks + 1 end
end

-- The indexes of a place, by kind: their names are long, and many alarms share them.
local indexNames = {}

local function indexesOf(place, kind)
  local names = indexNames[place] or {}
  indexNames[place] = names
  local device, location, group = place[3], place[4], place[5]
  names[kind] = names[kind] or {
    indexes .. location .. ':' .. device .. ':' .. group .. ':' .. kind,
    indexes .. location .. ':' .. group .. ':' .. kind,
  }
  return names[kind][1], names[kind][2]
end

local function add(alarm, sequence)
  local place, kind = alarmPlaces[alarm[1]], alarm[2]
  local number = text(sequence)
  -- Fixed width, so that alarms with equal detection times stay in the order in which they came.
  local member = string.rep('0', 12 - #number) .. number
  redis.call('XADD', log, number .. '-0', 'i', alarm[5], 'k', kind, 'r', alarm[6], 'a', alarm[7],
    'p', place[1], 'd', alarm[8], 'x', alarm[9], 't', alarm[10])
  redis.call('HSET', ids .. alarm[3], alarm[4], sequencesOf[alarm[3] .. alarm[4]])
  local ofDevice, ofLocation = indexesOf(place, kind)
  addToIndex(ofDevice, alarm, member)
  addToIndex(ofLocation, alarm, member)
  redis.call('ZADD', open .. place[4] .. ':' .. place[5] .. ':' .. kind, alarm[11], member)
  if alarm[12] ~= '' then
    local receiptsOfDevice = receipts .. place[3]
    redis.call('HSET', receiptsOfDevice, alarm[12], receiptOf(alarm, sequence))
    redis.call('EXPIRE', receiptsOfDevice, keepSeconds)
  end
end

local counts, placeOrder = {}, {}
if #new > 0 then redis.call('SET', counter, text(last)) end
for number, alarm in ipairs(new) do
  add(alarm, last - #new + number)
  local place = alarmPlaces[alarm[1]]
  if not counts[place] then placeOrder[#placeOrder + 1] = place end
  counts[place] = (counts[place] or 0) + 1
end
for _, index in ipairs(indexOrder) do
  local added = additions[index]
  redis.call('ZADD', index, unpack(added))
  for _ = 1, added.looks do
    if not shorten(index) then break end
  end
end
-- The first alarm of a place stores it, the last one to expire removes it. The groups are added each time: the
-- store may have lost them since, and without them no listing has the alarm.
for _, place in ipairs(placeOrder) do
  local digest, device, location, group = place[1], place[3], place[4], place[5]
  if redis.call('HINCRBY', places .. digest, 'n', counts[place]) == counts[place] then
    redis.call('HSET', places .. digest, 't', place[2], 'l', location, 'd', device, 'g', group)
  end
  redis.call('SADD', groups .. location .. ':' .. device, group)
  redis.call('SADD', groups .. location, group)
end
for _, alarm in ipairs(alarms) do
  if alarm[15] ~= '' then redis.call('HSET', received .. alarm[15], alarm[16], '') end
end
return results
