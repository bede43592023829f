-- Compares the store with what the gateway last saw of it, and notes the present numbers in it.
-- A counter that is behind its stream would have every new entry refused: it is raised first.
-- KEYS[1] identity   KEYS[2], [3], [4] counters of alarms, other messages and audit records
-- KEYS[5] log of alarms   KEYS[6] history   KEYS[7] log of other messages
-- ARGV[1] the identity that the gateway knows, '' to take the store as it is
-- ARGV[2], [3], [4] the numbers that it knows   ARGV[5] the identity to give a store that has none
-- returns '1' when nothing is missing, else '0' and then nothing is noted; the identity, '' for none;
--         three numbers noted before; three present ones; how many counters were raised
local FIELDS = { 'alarms', 'messages', 'audit' }
local STREAMS = { { KEYS[5], KEYS[6] }, { KEYS[7] }, {} }

local function lastOf(stream)
  if redis.call('EXISTS', stream) == 0 then return 0 end
  local info = redis.call('XINFO', 'STREAM', stream)
  for at = 1, #info, 2 do
    if info[at] == 'last-generated-id' then return tonumber(string.match(info[at + 1], '^%d+')) end
  end
  return 0
end

local raised = 0
local function presentNumber(counter, streams)
  local number = tonumber(redis.call('GET', counter) or '0')
  local last = number
  for _, stream in ipairs(streams) do last = math.max(last, lastOf(stream)) end
  if last > number then
    redis.call('SET', counter, string.format('%.0f', last))
    raised = raised + 1
  end
  return last
end

local identity = redis.call('HGET', KEYS[1], 'id') or ''
local isWhole = ARGV[1] == '' or identity == ARGV[1]
local noted, present, changes = {}, {}, {}
for at, field in ipairs(FIELDS) do
  noted[at] = tonumber(redis.call('HGET', KEYS[1], field) or '0')
  present[at] = presentNumber(KEYS[at + 1], STREAMS[at])
  local known = tonumber(ARGV[at + 1])
  if ARGV[1] ~= '' and (noted[at] < known or present[at] < known) then isWhole = false end
  if noted[at] ~= present[at] then
    changes[#changes + 1] = field
    changes[#changes + 1] = string.format('%.0f', present[at])
  end
end
if isWhole then
  if identity == '' then
    identity = ARGV[5]
    redis.call('HSET', KEYS[1], 'id', identity)
  end
  if #changes > 0 then redis.call('HSET', KEYS[1], unpack(changes)) end
end
local reply = { isWhole and '1' or '0', identity }
for _, number in ipairs(noted) do reply[#reply + 1] = string.format('%.0f', number) end
for _, number in ipairs(present) do reply[#reply + 1] = string.format('%.0f', number) end
reply[#reply + 1] = tostring(raised)
return reply
