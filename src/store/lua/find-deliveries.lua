-- Reads only.
-- Finds what became of an alarm for each destination that has or had it in its queue.
-- KEYS[1] the set of the destinations' names   KEYS[2] the piece of proofs that has the alarm (shared/proofs.lua)
-- KEYS[3] the hash of the destinations' numbers
-- ARGV[1] prefix of queues   ARGV[2] sequence of the alarm
-- returns { the names of the destinations that have it in their queue }, the proofs of a hundred alarms or '', and
--         { name, number, … } of all destinations ever noted
local queues, sequence = ARGV[1], tonumber(ARGV[2])

-- Items are in rising order along the queue.
local function hasQueued(queue)
  local low, high = 0, redis.pcall('LLEN', queue)
  if type(high) ~= 'number' then return false end
  high = high - 1
  while low <= high do
    local middle = math.floor((low + high) / 2)
    local found = math.floor((tonumber(redis.call('LINDEX', queue, middle)) or 0) / 65536)
    if found == sequence then return true end
    if found < sequence then low = middle + 1 else high = middle - 1 end
  end
  return false
end

local queued = {}
for _, name in ipairs(redis.call('SMEMBERS', KEYS[1])) do
  if hasQueued(queues .. name) then queued[#queued + 1] = name end
end
return { queued, redis.call('GET', KEYS[2]) or '', redis.call('HGETALL', KEYS[3]) }
