-- One change of the site: checks first, writes afterwards (a script is not rolled back).
-- KEYS     every key that is checked or written
-- ARGV[1]  JSON: { checks: [[condition, keyNumber, code, field?, value?], …],
--                  writes: [[command, keyNumber, argument, …], …] }
--          conditions: exists, absent, empty (no such set or no member), field (equals value)
-- returns  'ok', or the code of the first check that failed, and then nothing was written
local change = cjson.decode(ARGV[1])

local function holds(check)
  local condition, key = check[1], KEYS[check[2]]
  if condition == 'exists' then return redis.call('EXISTS', key) == 1 end
  if condition == 'absent' or condition == 'empty' then return redis.call('EXISTS', key) == 0 end
  if condition == 'field' then return redis.call('HGET', key, check[4]) == check[5] end
  error('unknown condition ' .. tostring(condition))
end

for _, check in ipairs(change.checks) do
  if not holds(check) then return check[3] end
end
for _, write in ipairs(change.writes) do
  redis.call(write[1], KEYS[write[2]], unpack(write, 3))
end
return 'ok'
