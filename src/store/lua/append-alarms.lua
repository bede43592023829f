-- Appends a batch of alarms to the alarm log, which is the history, each once: record, indexes, id and
-- received packet identifier in one atomic write (CONTRACT 4.1, 4.2).
-- KEYS[1] sequence counter   KEYS[2] alarm log
-- ARGV[1] to ARGV[6] prefixes, all in the slot of the log: of alarm ids, of receipts, of alarm indexes,
--                    of places, of alarm groups, of received packet identifiers
-- ARGV[7] seconds to keep receipts
-- ARGV[8] MessagePack: for each alarm
--         1 piece and 2 field of its id (alarm-records.ts)
--         3 device, 4 location, 5 group ('' for none), 6 kind
--         7 digest and 8 text of its place
--         9 receipt: packet identifier, '' when the id is stable, 10 digest of the payload,
--        11 1 when the packet has DUP set
--        12 session and 13 packet identifier of a QoS 2 publish, '' for none
--        14 to 19 values of the record: i, r, a, d, x, t (alarm-records.ts)
--        20 time of detection, in milliseconds
-- Numbers are texts, for Redis would have to print each of them.
-- returns for each alarm its sequence: negative when it had been recorded before
local counter, log = KEYS[1], KEYS[2]
local ids, receipts, indexes, places, groups, received, keepSeconds = unpack(ARGV, 1, 7)
local alarms = cmsgpack.unpack(ARGV[8])

-- A counter that was lost, set back or overwritten must not stop the recording (FINDINGS R11), nor may
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
local results, new, inBatch, receiptsInBatch = {}, {}, {}, {}

local function recordedBefore(alarm)
  local id = alarm[1] .. ':' .. alarm[2]
  if inBatch[id] then return inBatch[id] end
  local device, receipt, digest = alarm[3], alarm[9], alarm[10]
  if receipt ~= '' and alarm[11] == 1 then
    local known = receiptsInBatch[device .. receipt] or redis.call('HGET', receipts .. device, receipt)
    if known and string.sub(known, 1, #digest + 1) == digest .. ':' then
      return tonumber(string.sub(known, #digest + 2))
    end
  end
  return tonumber(redis.call('HGET', ids .. alarm[1], alarm[2]))
end

local function text(sequence)
  return string.format('%d', sequence)
end

local function receiptOf(alarm, sequence)
  return alarm[10] .. ':' .. text(sequence)
end

-- All checks come before the first write, because a script is not rolled back.
for number, alarm in ipairs(alarms) do
  if alarm[12] ~= '' then redis.call('HLEN', received .. alarm[12]) end
  local before = recordedBefore(alarm)
  if before then
    results[number] = -before
  else
    last = last + 1
    results[number] = last
    inBatch[alarm[1] .. ':' .. alarm[2]] = last
    if alarm[9] ~= '' then receiptsInBatch[alarm[3] .. alarm[9]] = receiptOf(alarm, last) end
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

local function shorten(index)
  local count, blocks = redis.call('ZCARD', index), index .. ':blocks'
  if count < LONG_INDEX then return end
  local lastTime = redis.call('ZRANGE', blocks, -1, -1, 'WITHSCORES')[2]
  local start = redis.call('ZCOUNT', index, '-inf', lastTime or BEFORE_BLOCKS)
  if count - start < LONG_INDEX then return end
  local stop, highest = start + BLOCK_ALARMS - 1, ''
  local oldest = redis.call('ZRANGE', index, start, stop, 'WITHSCORES')
  for at = 1, #oldest, 2 do
    if oldest[at] > highest then highest = oldest[at] end
  end
  redis.call('SET', index .. ':' .. highest, table.concat(oldest))
  redis.call('ZADD', blocks, oldest[#oldest], highest)
  redis.call('ZREMRANGEBYRANK', index, start, stop)
end

local function addToIndex(index, alarm, member)
  redis.call('ZADD', index, alarm[20], member)
  -- One alarm in eight looks, which is often enough; its digest is as good as random.
  if string.byte(alarm[2]) < 32 then shorten(index) end
end

local function add(alarm, sequence)
  local device, location, group, kind = alarm[3], alarm[4], alarm[5], alarm[6]
  local number = text(sequence)
  -- Fixed width, so that alarms with equal detection times stay in the order in which they came.
  local member = string.rep('0', 12 - #number) .. number
  redis.call('XADD', log, number .. '-0', 'i', alarm[14], 'k', kind, 'r', alarm[15], 'a', alarm[16],
    'p', alarm[7], 'd', alarm[17], 'x', alarm[18], 't', alarm[19])
  redis.call('HSET', ids .. alarm[1], alarm[2], number)
  local index = group .. ':' .. kind
  addToIndex(indexes .. location .. ':' .. device .. ':' .. index, alarm, member)
  addToIndex(indexes .. location .. ':' .. index, alarm, member)
  if alarm[9] ~= '' then
    redis.call('HSET', receipts .. device, alarm[9], receiptOf(alarm, sequence))
    redis.call('EXPIRE', receipts .. device, keepSeconds)
  end
end

local atPlace, placeOrder = {}, {}
if #new > 0 then redis.call('SET', counter, text(last)) end
for number, alarm in ipairs(new) do
  add(alarm, last - #new + number)
  local place = atPlace[alarm[7]]
  if place then
    place.count = place.count + 1
  else
    atPlace[alarm[7]] = { count = 1, alarm = alarm }
    placeOrder[#placeOrder + 1] = alarm[7]
  end
end
-- The first alarm of a place stores it, the last one to expire removes it.
for _, digest in ipairs(placeOrder) do
  local place = atPlace[digest]
  local device, location, group = place.alarm[3], place.alarm[4], place.alarm[5]
  if redis.call('HINCRBY', places .. digest, 'n', place.count) == place.count then
    redis.call('HSET', places .. digest, 't', place.alarm[8], 'l', location, 'd', device, 'g', group)
    redis.call('HINCRBY', groups .. location .. ':' .. device, group, 1)
    redis.call('HINCRBY', groups .. location, group, 1)
  end
end
for _, alarm in ipairs(alarms) do
  if alarm[12] ~= '' then redis.call('HSET', received .. alarm[12], alarm[13], '') end
end
return results
