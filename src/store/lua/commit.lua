-- Makes writes as one, or none: conditions first, then records of the audit trail, then commands. A script is not rolled
-- back, so everything that may fail is checked before the first write.
-- KEYS[1]  a key in the slot of all others
-- KEYS[2]  counter of audit records, KEYS[3], [4] their streams: of changes, of denials; only with records
-- ARGV[1]  MessagePack: the commands   ARGV[2] the conditions: for each the wanted reply, '' for none, and a command
-- ARGV[3]  the audit records: for each 1 if it is a denial, its time, the same by the steady clock, its text
-- ARGV[4], [5]  how many records the streams keep; the oldest go first
-- returns  the replies of the commands; or 0 if a condition does not hold, with nothing written
--- include last-number
local commands, conditions = cmsgpack.unpack(ARGV[1]), cmsgpack.unpack(ARGV[2])
local records = cmsgpack.unpack(ARGV[3])
local TYPES = { HSET = 'hash', HDEL = 'hash', LPUSH = 'list', LTRIM = 'list' }

for _, condition in ipairs(conditions) do
  local wanted = table.remove(condition, 1)
  if tostring(redis.call(unpack(condition)) or '') ~= wanted then return 0 end
end
if #conditions + #records > 0 then
  for _, command in ipairs(commands) do
    local found = redis.call('TYPE', command[2]).ok
    local wanted = TYPES[command[1]] or found
    if found ~= 'none' and found ~= wanted then
      return redis.error_reply('WRONGTYPE ' .. command[2] .. ' is a ' .. found)
    end
  end
end

if #records > 0 then
  -- A lost or set back counter must not stop the recording.
  local number = math.max(tonumber(redis.pcall('GET', KEYS[2])) or 0, lastOf(KEYS[3]), lastOf(KEYS[4]))
  for _, record in ipairs(records) do
    number = number + 1
    local isDenial = record[1] == 1
    redis.call('XADD', isDenial and KEYS[4] or KEYS[3], 'MAXLEN', '~', isDenial and ARGV[5] or ARGV[4],
      string.format('%.0f-0', number), 'at', string.format('%.0f', record[2]),
      'steady', string.format('%.0f', record[3]), 'record', record[4])
  end
  redis.call('SET', KEYS[2], string.format('%.0f', number))
end
local replies = {}
for number, command in ipairs(commands) do replies[number] = redis.call(unpack(command)) end
return replies
