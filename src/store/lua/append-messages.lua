-- Appends a batch of messages that are no alarms to their log.
-- KEYS[1] sequence counter   KEYS[2] message log
-- ARGV[1] prefix of received packet identifiers, in the slot of the log
-- ARGV[2] MessagePack: for each message its topic, payload, time of receipt, location and group ('' for
--         none), session and packet identifier of a QoS 2 publish ('' for none)
-- returns for each message its sequence
local counter, log, received = KEYS[1], KEYS[2], ARGV[1]
local messages = cmsgpack.unpack(ARGV[2])

-- A counter that was lost or set back must not stop the recording (FINDINGS R11).
local newest = redis.call('XREVRANGE', log, '+', '-', 'COUNT', 1)[1]
local last = math.max(
  tonumber(redis.call('GET', counter) or '') or 0,
  newest and tonumber(string.match(newest[1], '^%d+')) or 0
)

-- What cannot be written to is found before anything is written: a script is not rolled back.
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
