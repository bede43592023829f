-- Removes alarms whose time in the history is over, the oldest first, a bounded number at a time.
-- KEYS[1] history
-- ARGV[1] received before this time, milliseconds   ARGV[2] how many at most
-- ARGV[3] prefix of alarm indexes, ARGV[4] of alarm ids (all in the same slot as the history)
-- returns how many were removed
local before, limit, indexes, ids = tonumber(ARGV[1]), ARGV[2], ARGV[3], ARGV[4]
local removed = 0
for _, row in ipairs(redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', limit)) do
  local entry, fields, alarm = row[1], row[2], {}
  for at = 1, #fields, 2 do alarm[fields[at]] = fields[at + 1] end
  if tonumber(alarm.r) >= before then break end
  local member = string.format('%012.0f', tonumber(string.match(entry, '^%d+')))
  redis.call('ZREM', indexes .. alarm.l .. ':' .. alarm.k, member)
  redis.call('ZREM', indexes .. alarm.l .. ':' .. alarm.d .. ':' .. alarm.k, member)
  redis.call('HDEL', ids .. alarm.d .. ':' .. string.sub(alarm.i, -2), alarm.i)
  redis.call('XDEL', KEYS[1], entry)
  removed = removed + 1
end
return removed
