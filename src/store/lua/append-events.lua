-- Appends events of the gateway itself to the history, each once: the event, what it says about its subject, and its
-- number on the queue of every destination, in one atomic write (docs/reference/contract.md, 4.1 and 4.2).
-- KEYS[1] sequence counter   KEYS[2] history   KEYS[3] hash: device → what supervision says about it
-- KEYS[4] sorted set: escalations by due time   KEYS[5] sorted set: escalations made, by sequence
-- ARGV[1] to ARGV[3] prefixes, all in the slot of the history: of states of alarms, of destinations, of queues
-- ARGV[4] the tag of the batch   ARGV[5] MessagePack: for each destination its name
-- ARGV[6] MessagePack: sets of destinations, each as their numbers
-- ARGV[7] MessagePack: for each event
--         1 which of the sets gets it, 2 level of its topic, 3 members of its payload, 4 text of the device's place
--         5 time, 6 the same by the steady clock, in milliseconds, 7 'supervision' or 'escalation'
--         supervision: 8 device, 9 'silent' or 'heard', 10 id of the event, 11 time of the last packet
--         escalation: 8 its member of the sorted sets, 9 sequence and 10 id of the alarm
-- ARGV[8] the newest number that the gateway knows
-- returns { for each event its sequence: negative if appended before, 0 if no longer due; for each destination the
--         length of its queue }, or { {}, {}, the destinations that cannot be pushed to }, or an error `WENTBACK n`;
--         the last two with nothing written
--- include last-number
--- include destinations
--- include queues
local counter, history, supervision, due, made = unpack(KEYS)
local states, hashes, queues, tag = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local destinations, sets, events = cmsgpack.unpack(ARGV[5]), cmsgpack.unpack(ARGV[6]), cmsgpack.unpack(ARGV[7])
-- As in change-alarm-state.lua.
local STATES_PER_PIECE = 100
-- An unanswered write is repeated within seconds.
local MADE_KEPT = 20000

local last, wentBack = lastAlarm(counter, history, ARGV[8])
if wentBack then return wentBack end
local unusable = unusableQueues(hashes, queues, destinations)
if #unusable > 0 then return { {}, {}, unusable } end

local function known(device)
  local isReadable, record = pcall(cjson.decode, redis.call('HGET', supervision, device) or '')
  return isReadable and type(record) == 'table' and record or {}
end

-- Whether the alarm is neither acknowledged nor resolved.
local function isRaised(sequence, id)
  local piece = states .. string.format('%.0f', math.floor(tonumber(sequence) / STATES_PER_PIECE))
  local stored = redis.call('HGET', piece, sequence)
  return not stored or string.sub(stored, 1, 16) ~= id
end

-- Whether another alarm has the number: then this one was lost, and was stored again under another number.
local function isOfAnother(sequence, id)
  local row = redis.call('XRANGE', history, sequence .. '-0', sequence .. '-0')[1]
  for at = 1, row and #row[2] or 0, 2 do
    if row[2][at] == 'i' then return row[2][at + 1] ~= id end
  end
  return false
end

-- The sequence of an event appended before, 0 for one no longer due, nil for one to append.
local function settled(event)
  if event[7] == 'supervision' then
    local record = known(event[8])
    if record.id == event[10] then return -record.sequence end
    local isSilent = record.state == 'silent'
    if isSilent == (event[9] == 'silent') then return 0 end
  else
    local before = redis.call('ZSCORE', made, event[8])
    if before then return -tonumber(before) end
    if isOfAnother(event[9], event[10]) or not redis.call('ZSCORE', due, event[8]) then return 0 end
    if not isRaised(event[9], event[10]) then return 0 end
  end
end

-- All checks come before the first write, because a script is not rolled back. Events of a batch never share a subject.
redis.call('HLEN', supervision)
redis.call('ZCARD', due)
redis.call('ZCARD', made)
local results, new = {}, {}
for number, event in ipairs(events) do
  results[number] = settled(event)
  if not results[number] then
    last = last + 1
    results[number] = last
    new[#new + 1] = event
  end
end

local itemsOf = {}
if #new > 0 then redis.call('SET', counter, string.format('%.0f', last)) end
for number, event in ipairs(new) do
  local sequence = last - #new + number
  redis.call('XADD', history, string.format('%.0f-0', sequence), 'l', event[2], 'm', event[3], 'c', event[4],
    'r', event[5], 't', event[6])
  if event[7] == 'supervision' then
    local record = { state = event[9], id = event[10], sequence = sequence }
    record.sinceMs, record.lastSeenAtMs = tonumber(event[5]), tonumber(event[11])
    redis.call('HSET', supervision, event[8], cjson.encode(record))
  else
    redis.call('ZADD', made, sequence, event[8])
  end
  for _, destination in ipairs(sets[event[1]]) do
    itemsOf[destination] = itemsOf[destination] or {}
    table.insert(itemsOf[destination], itemOf(sequence, tag))
  end
end
for number, event in ipairs(events) do
  if event[7] == 'escalation' and not isOfAnother(event[9], event[10]) then redis.call('ZREM', due, event[8]) end
end
redis.call('ZREMRANGEBYRANK', made, 0, -MADE_KEPT - 1)
return { results, pushAll(hashes, queues, destinations, itemsOf) }
