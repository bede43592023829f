-- Compares the store with the gateway's witness. Writes nothing to a store in order: with a full disk, a
-- write ends the server. Raises a counter that is lower than its stream, which would refuse every new
-- entry.
-- KEYS[1] identity   KEYS[2], [3], [4] counters of alarms, other messages and audit records
-- KEYS[5] history   KEYS[6] message log   KEYS[7] audit log
-- ARGV[1] the identity that the gateway knows, '' to take the store as it is
-- ARGV[2], [3], [4] the numbers that it knows   ARGV[5] digest of the alarm with that number, or ''
-- ARGV[6] the identity to give a store that is taken as it is and has none
-- returns the identity, '' for none; the three numbers; digest of the newest alarm;
--         '1' when the alarm with the known number is another one; how many counters were raised
local function lastOf(stream)
  if redis.call('EXISTS', stream) == 0 then return 0 end
  local info = redis.call('XINFO', 'STREAM', stream)
  for at = 1, #info, 2 do
    if info[at] == 'last-generated-id' then return tonumber(string.match(info[at + 1], '^%d+')) end
  end
  return 0
end

local raised = 0
local function numberOf(counter, stream)
  local number = tonumber(redis.pcall('GET', counter)) or 0
  local last = math.max(number, lastOf(stream))
  if last > number then
    redis.call('SET', counter, string.format('%.0f', last))
    raised = raised + 1
  end
  return last
end

local function digestOf(number)
  local id = string.format('%.0f-0', number)
  local entry = redis.call('XRANGE', KEYS[5], id, id)[1]
  return entry and redis.sha1hex(table.concat(entry[2], '\n')) or ''
end

local alarms = numberOf(KEYS[2], KEYS[5])
local messages = numberOf(KEYS[3], KEYS[6])
local audit = numberOf(KEYS[4], KEYS[7])

local identity = redis.call('GET', KEYS[1]) or ''
if identity == '' and ARGV[1] == '' then
  identity = ARGV[6]
  redis.call('SET', KEYS[1], identity)
end

-- An alarm that has expired is gone, and proves nothing.
local found = ARGV[5] ~= '' and digestOf(tonumber(ARGV[2])) or ''
local isAnother = found ~= '' and found ~= ARGV[5]

local numbers = {}
for at, number in ipairs({ alarms, messages, audit }) do numbers[at] = string.format('%.0f', number) end
return { identity, numbers[1], numbers[2], numbers[3], digestOf(alarms), isAnother and '1' or '0',
  tostring(raised) }
