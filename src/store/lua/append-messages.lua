-- Appends a batch of messages other than alarms to the message log.
-- KEYS[1] sequence counter   KEYS[2] message log
-- ARGV[1] prefix of received packet identifiers, in the slot of the log
-- ARGV[2] MessagePack: for each message its topic, payload, time of receipt, location and group ('' for
--         none), session and packet identifier of a QoS 2 publish ('' for none)
-- returns for each message its sequence
local counter, log, received = KEYS[1], KEYS[2], ARGV[1]
local messages = cmsgpack.unpack(ARGV[2])

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

-- Unwritable keys are found before the first write, because a script is not rolled back.
for _, message in ipairs(messages) do
  if message[6] ~= '' then redis.call('HLEN', received .. message[6]) end
end
redis.call('SET', counter, string.format('%.0f', last + #messages))
local results = {}
for number, message in ipairs(messages) do
  local sequence = last + number
  redis.call('XADD', log, string.format('%.0f-0', sequence), 't', message[1], 'p', message[2],
    'r', string.format('%.0f', message[3]), 'l', message[4], 'g', message[5])
  if message[6] ~= '' then redis.call('HSET', received .. message[6], message[7], '') end
  results[number] = sequence
end
return results
