-- Reads only.
-- Finds what became of an entry for each destination that has or had it in its queue.
-- arg.number
-- returns { the names of the destinations that have it in their queue }, and the proofs of a hundred entries or ''
-- (shared/proofs.lua)

-- Numbers are in rising order along the queue.
local function hasQueued(queue)
  local low, high = 0, redis.pcall('LLEN', queue)
  if type(high) ~= 'number' then return false end
  high = high - 1
  while low <= high do
    local middle = math.floor((low + high) / 2)
    local found = tonumber(redis.call('LINDEX', queue, middle)) or 0
    if found == arg.number then return true end
    if found < arg.number then low = middle + 1 else high = middle - 1 end
  end
  return false
end

local queued = {}
for _, name in ipairs(redis.call('SMEMBERS', key('sessions'))) do
  if hasQueued(key('queue:' .. name)) then queued[#queued + 1] = name end
end
local piece = string.format('%.0f', math.floor(arg.number / 100))
return { queued, redis.call('GET', key('proofs:' .. piece)) or '' }
