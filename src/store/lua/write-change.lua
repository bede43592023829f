-- Writes a change with its audit records.
-- KEYS[1]  the counter of the site's changes
-- ARGV[1]  JSON: { writes: [[command, key, argument, …], …],
--                  records: [{ stream, sequence, atMs, text }, …],
--                  revision: for a change of the site, what the counter must be }
--          Every key is in the slot of KEYS[1]. A record's entry in the stream has its number as the id,
--          `at`, its time, and `record`, JSON: [text].
-- returns  1, or 0 when the counter is another, and then nothing was written
local change = cjson.decode(ARGV[1])

if change.revision and tonumber(redis.call('GET', KEYS[1]) or '0') ~= change.revision then return 0 end
-- A key that is no hash is refused before the first write, because a script is not rolled back.
for _, write in ipairs(change.writes) do
  if write[1] ~= 'DEL' then redis.call('HLEN', write[2]) end
end
for _, record in ipairs(change.records) do
  local id = string.format('%.0f-0', redis.call('INCR', record.sequence))
  local at = string.format('%.0f', record.atMs)
  redis.call('XADD', record.stream, id, 'at', at, 'record', '[' .. record.text .. ']')
end
-- Behind the records, as a stream refuses one whose counter was set back.
if change.revision then redis.call('INCR', KEYS[1]) end
for _, write in ipairs(change.writes) do redis.call(unpack(write)) end
return 1
