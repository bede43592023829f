-- Writes a change with its audit records, or nothing. A script is not rolled back, so all checks come before the
-- first write.
-- KEYS[1]  the counter of the site's changes   KEYS[2]  the counter of audit records
-- KEYS[3], [4]  the streams of audit records: of changes, of denials
-- ARGV[1]  JSON: { writes: [[command, key, argument, …], …],
--                  records: [{ isDenial, atMs, steadyMs, text }, …],
--                  revision: for a change of the site, what the counter must be }
--          Every key is in the slot of KEYS[1]. A record's entry in its stream has its number as the id, its time
--          as `at`, the same by the steady clock as `steady`, and its text as `record`.
-- ARGV[2], [3]  how many records the streams keep; the oldest go first
-- returns  1; or 0, with nothing written, if the counter has another value
--- include last-number
local change = cjson.decode(ARGV[1])

-- A lost or set back counter must not stop the recording.
local number = math.max(tonumber(redis.pcall('GET', KEYS[2])) or 0, lastOf(KEYS[3]), lastOf(KEYS[4]))
if change.revision and tonumber(redis.call('GET', KEYS[1]) or '0') ~= change.revision then return 0 end
-- This fails for a key that is not a hash.
for _, write in ipairs(change.writes) do
  if write[1] ~= 'DEL' then redis.call('HLEN', write[2]) end
end

for _, record in ipairs(change.records) do
  number = number + 1
  local stream = record.isDenial and 2 or 1
  redis.call('XADD', KEYS[stream + 2], 'MAXLEN', '~', ARGV[stream + 1], string.format('%.0f-0', number),
    'at', string.format('%.0f', record.atMs), 'steady', string.format('%.0f', record.steadyMs),
    'record', record.text)
end
if #change.records > 0 then redis.call('SET', KEYS[2], string.format('%.0f', number)) end
if change.revision then redis.call('INCR', KEYS[1]) end
for _, write in ipairs(change.writes) do redis.call(unpack(write)) end
return 1
