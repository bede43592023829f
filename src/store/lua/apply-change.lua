-- Applies one change of the site: checks first, then writes (a script is not rolled back).
-- KEYS     every key that is checked or written
-- ARGV[1]  JSON: { checks: [[condition, keyNumber, code, field?, value?], …],
--                  records: [[indexNumber, counterNumber, time, text,
--                             [[name, keyNumber, field], …]], …],
--                  writes: [[command, keyNumber, argument, …], …] }
--          conditions: exists, absent, empty (no such set or no member), field (equals value), noField
--          records: of the audit trail, with the values of those fields before the writes. A member of
--          an index is the record's number in 12 digits, then JSON: [text, { name: old value, … }]
--          commands: those of Redis, and
--          LEAVE record, field, prefix, member: removes it from the set that the field names, if any
--          DELEACH set, prefix: deletes prefix .. member for every member of the set
--          The keys that these two make are in the slot of the others, and depend on values read
--          here, so that no other change can come between.
-- returns  the code of the first check that failed, and then nothing was written, or 'ok'
local change = cjson.decode(ARGV[1])

local function holds(check)
  local condition, key = check[1], KEYS[check[2]]
  if condition == 'exists' then return redis.call('EXISTS', key) == 1 end
  if condition == 'absent' or condition == 'empty' then return redis.call('EXISTS', key) == 0 end
  if condition == 'field' then return redis.call('HGET', key, check[4]) == check[5] end
  if condition == 'noField' then return redis.call('HEXISTS', key, check[4]) == 0 end
  error('unknown condition ' .. tostring(condition))
end

local function leave(record, field, prefix, member)
  local id = redis.call('HGET', record, field)
  if id then redis.call('SREM', prefix .. id, member) end
end

local function deleteEach(set, prefix)
  for _, member in ipairs(redis.call('SMEMBERS', set)) do redis.call('DEL', prefix .. member) end
end

local function record(index, counter, time, text, fields)
  local before = {}
  for _, one in ipairs(fields) do
    before[one[1]] = redis.call('HGET', KEYS[one[2]], one[3]) or cjson.null
  end
  local number = string.format('%012.0f', redis.call('INCR', counter))
  redis.call('ZADD', index, time, number .. '[' .. text .. ',' .. cjson.encode(before) .. ']')
end

local function write(command, key, ...)
  if command == 'LEAVE' then return leave(key, ...) end
  if command == 'DELEACH' then return deleteEach(key, ...) end
  redis.call(command, key, ...)
end

for _, check in ipairs(change.checks) do
  if not holds(check) then return check[3] end
end
for _, one in ipairs(change.records) do
  record(KEYS[one[1]], KEYS[one[2]], unpack(one, 3))
end
for _, one in ipairs(change.writes) do
  write(one[1], KEYS[one[2]], unpack(one, 3))
end
return 'ok'
