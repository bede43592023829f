-- Writes the record of a destination again, removes keys of another type, and makes its account balance.
-- arg.name   arg.record  fields and values   arg.fields  the fields of the account, besides `accepted`
-- arg.sum    those that add up to `accepted`, with the length of the queue
-- returns the length of its queue
--- include destinations
local session = key('session:' .. arg.name)
for name, wanted in pairs({ [session] = 'hash', [key('queue:' .. arg.name)] = 'list', [key('sessions')] = 'set' }) do
  local found = redis.call('TYPE', name).ok
  if found ~= wanted and found ~= 'none' then redis.call('DEL', name) end
end
redis.call('HSET', session, unpack(arg.record))
redis.call('SADD', key('sessions'), arg.name)
for _, field in ipairs(arg.fields) do
  if not isCount(redis.call('HGET', session, field)) then redis.call('HDEL', session, field) end
end
local accepted = lengthOf(arg.name)
for _, field in ipairs(arg.sum) do accepted = accepted + (tonumber(redis.call('HGET', session, field)) or 0) end
redis.call('HSET', session, 'accepted', string.format('%.0f', accepted))
return lengthOf(arg.name)
