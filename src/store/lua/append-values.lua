-- Appends a batch of messages other than alarms to the streams of their destinations, once: a batch sent again because
-- its answer was lost gets the same answer.
-- KEYS[1] sequence counter   KEYS[2] hash: id and first number of the last batch
-- ARGV[1] to ARGV[3] prefixes, in the slot of the counter: of destinations, of streams, of received packet identifiers
-- ARGV[4] id of the batch   ARGV[5] its tag: the second part of the ids of its entries (shared/queues.lua)
-- ARGV[6] MessagePack: for each destination its name
-- ARGV[7] MessagePack: sets of destinations, each as their numbers
-- ARGV[8] MessagePack: for each message its topic, payload, time of receipt, location and group ('' for none), session
--         and packet identifier of a QoS 2 publish ('' for none), which of the sets gets it, and its MQTT 5 properties
--         ('' for none)
-- returns { number of the first message; for each destination in turn the length of its stream and the bytes of its
--         payloads and properties }, or { 0, {}, the destinations that cannot be added to } with nothing written
--- include last-number
--- include destinations
local hashes, streams, received, batch, tag = unpack(ARGV, 1, 5)
local destinations, sets = cmsgpack.unpack(ARGV[6]), cmsgpack.unpack(ARGV[7])
local messages = cmsgpack.unpack(ARGV[8])

local unusable = {}
for _, row in ipairs(destinations) do
  local name = row[1]
  local isUsable = hasAccount(hashes .. name, 'messages.accepted', 'messages.bytes')
    and lengthOf('XLEN', streams .. name)
  if not isUsable then unusable[#unusable + 1] = name end
end
if #unusable > 0 then return { 0, {}, unusable } end

local function lengths()
  local found = {}
  for _, row in ipairs(destinations) do
    found[#found + 1] = redis.call('XLEN', streams .. row[1])
    found[#found + 1] = tonumber(redis.call('HGET', hashes .. row[1], 'messages.bytes') or 0)
  end
  return found
end

local known = redis.pcall('HMGET', KEYS[2], 'id', 'first')
if known.err then redis.call('DEL', KEYS[2]) end
if known[1] == batch and tonumber(known[2]) then return { tonumber(known[2]), lengths() } end

-- A lost, set back or overwritten counter must not stop the recording: the streams know their last numbers.
local last = tonumber(redis.pcall('GET', KEYS[1])) or 0
for _, row in ipairs(destinations) do last = math.max(last, lastOf(streams .. row[1])) end
for _, message in ipairs(messages) do
  if message[6] ~= '' then redis.call('HLEN', received .. message[6]) end
end

redis.call('SET', KEYS[1], string.format('%.0f', last + #messages))
redis.call('HSET', KEYS[2], 'id', batch, 'first', string.format('%.0f', last + 1))
local counts, bytes = {}, {}
for at, message in ipairs(messages) do
  local id = string.format('%.0f-%s', last + at, tag)
  for _, number in ipairs(sets[message[8]]) do
    local fields = { 't', message[1], 'p', message[2], 'r', string.format('%.0f', message[3]), 'l', message[4],
      'g', message[5] }
    if message[9] ~= '' then fields[11], fields[12] = 'm', message[9] end
    redis.call('XADD', streams .. destinations[number][1], id, unpack(fields))
    counts[number] = (counts[number] or 0) + 1
    bytes[number] = (bytes[number] or 0) + #message[2] + #message[9]
  end
  if message[6] ~= '' then redis.call('HSET', received .. message[6], message[7], '') end
end
for number, count in pairs(counts) do
  local hash = hashes .. destinations[number][1]
  redis.call('HINCRBY', hash, 'messages.accepted', count)
  redis.call('HINCRBY', hash, 'messages.bytes', bytes[number])
end
return { last + 1, lengths() }
