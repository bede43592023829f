-- Writes the record of a destination again, removes keys of another type, and makes its account balance.
-- KEYS[1] the destination   KEYS[2] its queue   KEYS[3] its stream   KEYS[4] set: the names of all destinations
-- ARGV[1] its name   ARGV[2], [3] the last entry of its stream that is counted, and the bytes up to there: reading a
--         whole stream here would keep everybody waiting
-- ARGV[4] how many fields and values of the record follow; then these, then the fields of the account: for each log
--         what was accepted, then what became of it
-- returns { length of its queue, length of its stream, bytes of the payloads and properties }
--- include destinations
local hash, queue, stream, names = unpack(KEYS)
local name, counted, bytes, recordLength = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local function removeUnless(wanted, key)
  local found = redis.call('TYPE', key).ok
  if found ~= wanted and found ~= 'none' then redis.call('DEL', key) end
end
removeUnless('hash', hash)
removeUnless('list', queue)
removeUnless('stream', stream)
removeUnless('set', names)
redis.call('HSET', hash, unpack(ARGV, 5, 4 + recordLength))
redis.call('SADD', names, name)

for _, row in ipairs(redis.call('XRANGE', stream, counted == '' and '-' or '(' .. counted, '+')) do
  for at = 1, #row[2], 2 do
    if row[2][at] == 'p' or row[2][at] == 'm' then bytes = bytes + #row[2][at + 1] end
  end
end
local function mend(log, queued)
  local sum = queued
  for at = 5 + recordLength, #ARGV do
    local field = ARGV[at]
    local value = redis.call('HGET', hash, field)
    if string.match(field, '^' .. log) and not isCount(value) then
      redis.call('HDEL', hash, field)
      value = false
    end
    if field == log .. '.delivered' or field == log .. '.expired' or field == log .. '.dropped' then
      sum = sum + (tonumber(value) or 0)
    end
  end
  redis.call('HSET', hash, log .. '.accepted', string.format('%.0f', sum))
end
mend('alarms', redis.call('LLEN', queue))
mend('messages', redis.call('XLEN', stream))
redis.call('HSET', hash, 'messages.bytes', string.format('%.0f', bytes))
return { redis.call('LLEN', queue), redis.call('XLEN', stream), bytes }
